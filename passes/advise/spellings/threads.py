"""Tile-and-fuse without matrix cores: every thread of a workgroup has a `thread` tile of its
`workgroup` tile."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xpu_shark.passes.advise.case import Case
from xpu_shark.passes.advise.spellings.op import Op


def takes(op: Op) -> bool:
    levels = op.levels
    return {"workgroup", "thread"} <= levels.keys() <= {"workgroup", "thread", "reduction"} and all(
        len(sizes) == len(op.extents) for sizes in levels.values()
    )


def spell(case: Case, op: Op, tile: Sequence[int]) -> str | None:
    """As many threads as now, each with as large a tile; the reduction in whole steps of one."""
    levels = op.levels
    workgroup, thread = list(levels["workgroup"]), levels["thread"]
    reduction = list(levels.get("reduction", [0] * len(tile)))
    threads = prod(w // t for w, t in zip(workgroup, thread, strict=True) if t)
    now = 1
    for loop, (size, old, free) in enumerate(zip(tile, op.now, op.free, strict=True)):
        if not free:
            if size != old:
                if not reduction[loop] or op.extents[loop] % size:
                    return None
                reduction[loop] = size
            continue
        if not thread[loop]:
            if size != old:
                return None
            continue
        share = -(-size // thread[loop]) * thread[loop]
        if size < op.extents[loop] and size != share:
            return None
        workgroup[loop] = share if size != old else workgroup[loop]
        now *= workgroup[loop] // thread[loop]
    if now != threads:
        return None
    return op.replaced(workgroup=workgroup, reduction=reduction)
