"""Tensor values as positions in the tensors of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from iree.compiler import ir

from xpu_shark.passes.bridge.indexing import Position, Step
from xpu_shark.passes.bridge.sizes import Size


@dataclass(frozen=True)
class View:
    """What a tensor-typed SSA value is.

    `tensor` indexes the kernel's tensors, and None is a value that costs nothing to have: not
    yet written (`tensor.empty`), or one constant throughout. `fill` is the op that says which
    constant; it is only carried out if somebody needs the filled array in memory.
    `steps` lead from a position in the value to one in the tensor. `whole`: the value is all of
    the tensor, in the same order.
    """

    tensor: int | None
    shape: tuple[Size, ...]
    element: str
    steps: tuple[Step, ...] = ()
    whole: bool = True
    fill: ir.Operation | None = None

    def through(self, step: Step, shape: Sequence[Size], *, whole: bool) -> View:
        """A view of this view."""
        steps = (step, *self.steps)
        return replace(self, steps=steps, shape=tuple(shape), whole=self.whole and whole)

    def position(self, position: Position) -> Position:
        """Where in the tensor a position in this value is."""
        for step in self.steps:
            position = step(position)
        return position
