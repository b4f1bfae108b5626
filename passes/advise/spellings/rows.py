"""Reductions by vector distribution: a workgroup's rows; how its lanes share a row stays."""

from __future__ import annotations

from collections.abc import Sequence

from xpu_shark.passes.advise.case import Case
from xpu_shark.passes.advise.spellings.op import Op


def takes(op: Op) -> bool:
    return "lane_basis" in op.config and all(
        len(op.levels.get(name, ())) == len(op.extents)
        for name in ("workgroup", "partial_reduction")
    )


def spell(case: Case, op: Op, tile: Sequence[int]) -> str | None:
    """Any number of rows that divides them; the reduction as it is."""
    workgroup = list(op.levels["workgroup"])
    for loop, (size, old, free) in enumerate(zip(tile, op.now, op.free, strict=True)):
        if size == old:
            continue
        if not free or not workgroup[loop] or op.extents[loop] % size:
            return None
        workgroup[loop] = size
    return op.replaced(workgroup=workgroup)
