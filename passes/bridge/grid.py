"""Positions that move with the parallel loops of a dispatch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir

from xpu_shark.passes.bridge.sizes import Size, SizeReader
from xpu_shark.simulator.workload import Index

PROBED = (0, 1, 2, 7)  # turns that a linear position is told by


@dataclass(frozen=True)
class Loop:
    """A parallel loop that is being read; `number`, below zero, stands for it in positions."""

    number: int
    counter: ir.Value
    lower: Size
    step: Size


class Grid:
    """The parallel loops around what is being read, outermost first."""

    def __init__(self) -> None:
        self._loops: list[Loop] = []

    def enter(self, counter: ir.Value, lower: Size, step: Size) -> Loop:
        """One more loop inside the others."""
        self._loops.append(Loop(-1 - len(self._loops), counter, lower, step))
        return self._loops[-1]

    def leave(self, loops: Sequence[Loop]) -> None:
        """The innermost `loops` have been read."""
        del self._loops[len(self._loops) - len(loops) :]

    def index(self, value: ir.Value, sizes: SizeReader) -> Index | None:
        """The position that `value` is as the loops turn; None where none of them moves it.

        What is not linear in a loop's turns, or not a number, is a run-time position.
        """
        moving = [loop for loop in self._loops if depends(value, loop.counter)]
        if not moving:
            return None
        terms = []
        start = 0
        for loop in moving:
            first, second, *others = (_at(value, loop, turn, sizes) for turn in PROBED)
            if not isinstance(first, int) or not isinstance(second, int):
                return _runtime(moving)
            step = second - first
            if others != [first + turn * step for turn in PROBED[2:]]:
                return _runtime(moving)
            terms.append((loop.number, step))
            start = first
        return Index(terms=tuple(term for term in terms if term[1]), offset=start)

    def offsets(
        self, static: Sequence[int], dynamic: Sequence[ir.Value], sizes: SizeReader
    ) -> tuple[Size | Index, ...]:
        """Where a slice starts: sizes, and positions where one of the loops moves it."""
        moved = iter([self.index(value, sizes) for value in dynamic])
        known, marker = sizes.mixed(static, dynamic), ir.ShapedType.get_dynamic_size()
        pairs = zip(static, known, strict=True)
        return tuple((fixed == marker and next(moved)) or size for fixed, size in pairs)


def depends(value: ir.Value, counter: ir.Value) -> bool:
    """Whether `value` is computed from `counter`."""
    if value == counter or isinstance(value, ir.BlockArgument):
        return bool(value == counter)
    return any(depends(operand, counter) for operand in value.owner.operation.operands)


def _at(value: ir.Value, loop: Loop, turn: int, sizes: SizeReader) -> Size | None:
    """What `value` is in a turn of a loop, the others in their first one."""
    if not isinstance(loop.lower, int) or not isinstance(loop.step, int):
        return None
    return sizes.where(loop.counter, loop.lower + turn * loop.step).read(value)


def _runtime(loops: Sequence[Loop]) -> Index:
    return Index(terms=tuple((loop.number, 1) for loop in loops), indirect=True)
