"""Copies that one loop over threads does: `tile_sizes = [[1, 128]]`, a workgroup's share."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xpu_shark.passes.advise.case import Case
from xpu_shark.passes.advise.spellings.op import Op

_SIZES = re.compile(r"tile_sizes = \[\[([\d, ]+)\]\]")


def takes(op: Op) -> bool:
    found = _SIZES.search(op.config)
    return found is not None and len(found[1].split(",")) == len(op.extents)


def spell(case: Case, op: Op, tile: Sequence[int]) -> str | None:
    """Any share along loops that are no reduction."""
    pairs = zip(tile, op.now, op.free, strict=True)
    if any(size != old and not free for size, old, free in pairs):
        return None
    return _SIZES.sub(f"tile_sizes = [{list(tile)}]", op.config)
