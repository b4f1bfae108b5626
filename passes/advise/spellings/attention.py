"""Attention by vector distribution: a workgroup's queries and columns of the result, and the keys
that it takes at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xpu_shark.passes.advise.case import Case
from xpu_shark.passes.advise.spellings.intrinsic import MOST_IN_TILE
from xpu_shark.passes.advise.spellings.op import Op
from xpu_shark.simulator.element_type import storage_bytes


def takes(op: Op) -> bool:
    levels = op.levels
    return (
        len(op.products) == 2
        and "promotion_types" in op.config
        and "mma_kind" not in op.config
        and all(len(levels.get(name, ())) == len(op.extents) for name in ("workgroup", "reduction"))
    )


def spell(case: Case, op: Op, tile: Sequence[int]) -> str | None:
    """Multiples of the sizes that IREE chose, which hold whole instructions for every subgroup of
    its schedules for both products (`decomposition_config`, left as they are), where they divide
    the extents."""
    levels = {name: list(op.levels[name]) for name in ("workgroup", "reduction")}
    for loop, (size, old, extent) in enumerate(zip(tile, op.now, op.extents, strict=True)):
        level = levels["workgroup"] if levels["workgroup"][loop] else levels["reduction"]
        if size == (level[loop] or old):
            continue
        if not level[loop] or size % level[loop] or extent % size or size > MOST_IN_TILE:
            return None
        if level[loop] == 1:
            return None  # a head: its products are scheduled one at a time
        level[loop] = size
    sizes = [a or b or extent for a, b, extent in zip(*levels.values(), op.extents, strict=True)]
    return op.replaced(**levels) if _bytes(op, sizes) <= case.target.memory[-1].bytes else None


def _bytes(op: Op, sizes: Sequence[int]) -> int:
    """What a workgroup shares at most: its queries, a step of keys, their weights, and a step of
    values. IREE's constraint counts half of the last two where the layouts of both products
    agree."""
    scores, values = op.products

    def taken(element: str, loops: Sequence[int]) -> int:
        return storage_bytes(element, prod(sizes[loop] for loop in loops))

    return (
        taken(scores.lhs_element, (*scores.m, *scores.k))
        + taken(scores.rhs_element, (*scores.n, *scores.k))
        + taken(values.lhs_element, (*values.m, *values.k))
        + taken(values.rhs_element, (*values.n, *values.k))
    )
