"""llvm-cpu: `distribution` is a workgroup's share, `cache_parallel` what it holds at a time."""

from __future__ import annotations

from collections.abc import Sequence

from xpu_shark.passes.advise.case import Case
from xpu_shark.passes.advise.spellings.op import Op
from xpu_shark.simulator.element_type import bits


def takes(op: Op) -> bool:
    return "distribution" in op.levels and all(
        len(sizes) == len(op.extents) for sizes in op.levels.values()
    )


def spell(case: Case, op: Op, tile: Sequence[int]) -> str | None:
    """Any share of a workgroup in whole vectors; the reduction as it is: IREE cuts it in the
    core, by vectors. Types of less than a byte have no masked loads: shares must come out even."""
    levels = op.levels
    vectors = levels.get("vector_common_parallel", [0] * len(tile))
    narrow = any(bits(element) < 8 for element in op.elements)
    for size, old, free, vector, extent in zip(
        tile, op.now, op.free, vectors, op.extents, strict=True
    ):
        if not free and size != old:
            return None
        if free and vector and size % vector and size < extent:
            return None
        if free and narrow and extent % size:
            return None
    shares = [size if free else 0 for size, free in zip(tile, op.free, strict=True)]
    if case.target.execution == "waves":
        return op.replaced(distribution=shares)
    if "cache_parallel" not in levels:
        return None
    dealt = [
        old if share and not old % share else share
        for old, share in zip(levels["distribution"], shares, strict=True)
    ]
    return op.replaced(distribution=dealt, cache_parallel=shares)
