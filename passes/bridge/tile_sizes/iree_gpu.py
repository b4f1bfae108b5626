"""`#iree_gpu.lowering_config<{workgroup = [64, 128, 0], reduction = [0, 0, 16], ...}>`."""

from __future__ import annotations

import re

# From the workgroup's share inwards. Others that the attribute holds (mma_kind, lane_basis,
# promote_operands, ...) are not tile sizes.
LEVELS = ("workgroup", "reduction", "partial_reduction", "serial", "subgroup", "thread")
_LEVEL = re.compile(r"\b(\w+) = \[([\d, ]*)\]")
_INTRINSIC_K = re.compile(r"mma_kind = #iree_gpu\.(?:virtual_)?mma_layout<\w+?_\d+x\d+x(\d+)_")


def parse(text: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Levels by name, outermost first, in elements but for `subgroup`.

    Where subgroups' tiles are given, `subgroup` and the innermost reduction count matrix
    instructions, as IREE writes them for its tile-and-fuse pipeline (its `padding` says the
    same in elements): the reduction is multiplied out here.
    """
    found = {
        name: tuple(map(int, sizes.split(","))) for name, sizes in _LEVEL.findall(text) if sizes
    }
    intrinsic = _INTRINSIC_K.search(text)
    if intrinsic and "subgroup" in found and "reduction" in found:
        found["reduction"] = _in_elements(found["reduction"], int(intrinsic[1]))
    return tuple((name, found[name]) for name in LEVELS if name in found)


def _in_elements(sizes: tuple[int, ...], intrinsic: int) -> tuple[int, ...]:
    last = max((place for place, size in enumerate(sizes) if size), default=-1)
    return tuple(size * intrinsic if place == last else size for place, size in enumerate(sizes))
