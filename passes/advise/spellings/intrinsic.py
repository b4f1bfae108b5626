"""Products on a GPU's matrix cores: the instruction, and the loops that it steps along."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xpu_shark.passes.advise.case import Case
from xpu_shark.passes.advise.spellings.op import Op
from xpu_shark.simulator.element_type import storage_bytes

_MMA = re.compile(r"mma_kind = #iree_gpu\.mma_layout<\w+?_(\d+)x(\d+)x(\d+)_")
MOST_IN_TILE = 512  # rows, columns and terms of a workgroup's tile, for want of registers


@dataclass(frozen=True)
class Product:
    """Loops over rows, columns and terms, and what one instruction takes of the last of each:
    `steps` by loop. The tile is a workgroup's, filled up to whole instructions."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    terms: tuple[int, ...]
    steps: dict[int, int]
    elements: tuple[str, str]
    accumulator: str

    def filled(self, loop: int, size: int) -> int:
        """`size` along a loop in whole instructions."""
        step = self.steps.get(loop, 1)
        return -(-size // step) * step

    def fits(self, case: Case, rows: int, columns: int, terms: int, *, held: bool = False) -> bool:
        """Whether both operands of a tile fit the memory that a workgroup shares, beside the
        result where that is `held` there too."""
        pairs = zip(self.elements, (rows, columns), strict=True)
        bytes = sum(storage_bytes(element, size * terms) for element, size in pairs)
        bytes += storage_bytes(self.accumulator, rows * columns) if held else 0
        return bytes <= case.target.memory[-1].bytes


def product(op: Op) -> Product | None:
    """None where the op is no product on matrix cores."""
    found = _MMA.search(op.config)
    if found is None or len(op.products) != 1:
        return None
    [dims] = op.products
    if not (dims.m and dims.n and dims.k):
        return None
    last = (dims.m[-1], dims.n[-1], dims.k[-1])
    steps = dict(zip(last, map(int, found.groups()), strict=True))
    elements = (dims.lhs_element, dims.rhs_element)
    return Product(dims.m, dims.n, dims.k, steps, elements, dims.accumulator)


def splits(counts: Sequence[int], groups: int) -> list[tuple[int, ...]]:
    """Ways to deal `counts` pieces along several loops out to `groups` subgroups, all busy: how
    many subgroups along each loop."""
    if not counts:
        return [()] if groups == 1 else []
    return [
        (across, *rest)
        for across in range(1, groups + 1)
        if not groups % across and not counts[0] % across
        for rest in splits(counts[1:], groups // across)
    ]


def squarest(work: Product, counts: dict[int, int], groups: int) -> dict[int, int] | None:
    """Subgroups along each loop over rows and columns, so that one subgroup's share, in
    instructions, is as square as can be; None where the tile cannot be dealt out to that many."""
    loops = (*work.rows, *work.columns)
    choices = splits([counts[loop] for loop in loops], groups)
    if not choices:
        return None

    def slant(choice: Iterable[int]) -> int:
        share = {loop: counts[loop] // n for loop, n in zip(loops, choice, strict=True)}
        return abs(prod(share[r] for r in work.rows) - prod(share[c] for c in work.columns))

    return dict(zip(loops, min(choices, key=slant), strict=True))
