"""Which bodies are matrix work, and which loop dims a matrix unit sees as what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from xpu_shark.passes.bridge.body_work import widened
from xpu_shark.passes.bridge.indexing import Position, walk_dims
from xpu_shark.simulator.workload import Contraction


@dataclass(frozen=True)
class Factor:
    """One side of the multiplication: the operand it comes from and the type it has there."""

    operand: int
    position: Position
    element: str

    @property
    def dims(self) -> frozenset[int]:
        return frozenset(walk_dims(self.position))

    @property
    def is_window(self) -> bool:
        """Whether some position is a sum of loop dims: the image of a convolution."""
        return any(len(index.terms) > 1 for index in self.position)


def find_contraction(
    product: ir.Value,
    arguments: Sequence[ir.BlockArgument],
    positions: Sequence[Position],
    out: Position,
    reads: Mapping[int, int],
    accumulator: str,
) -> Contraction | None:
    """The contraction that adds `product` up, or None where a matrix unit has no use for it.

    `arguments` and `positions` are those of the inputs; `reads` maps an input's number to its
    index in the nest's reads. None for a product of one input with itself, and for work without
    reuse of either factor: dot products and depthwise convolutions.
    """
    found = (_factor(value, arguments, positions) for value in product.owner.operation.operands)
    factors = [factor for factor in found if factor and factor.operand in reads]
    if len(factors) != 2 or factors[0].operand == factors[1].operand:
        return None
    lhs, rhs = sorted(factors, key=lambda factor: (not factor.is_window, factor.operand))
    kept, shared = frozenset(walk_dims(out)), lhs.dims & rhs.dims
    batch, k = shared & kept, shared - kept
    m, n = (lhs.dims - rhs.dims) & kept, (rhs.dims - lhs.dims) & kept
    if not k or not (m or n) or (lhs.is_window and batch and not (m and n)):
        return None
    return Contraction(
        batch=_ordered(batch),
        m=_ordered(m),
        n=_ordered(n),
        k=_ordered(k),
        lhs=reads[lhs.operand],
        rhs=reads[rhs.operand],
        lhs_element=lhs.element,
        rhs_element=rhs.element,
        accumulator=accumulator,
    )


def _ordered(dims: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted(dims))


def _factor(
    value: ir.Value, arguments: Sequence[ir.BlockArgument], positions: Sequence[Position]
) -> Factor | None:
    """The input with the most dims that `value` is computed from: scales and offsets have fewer."""
    numbers = sorted(_inputs(value, arguments))
    if not numbers:
        return None
    operand = max(numbers, key=lambda number: len(walk_dims(positions[number])))
    argument = arguments[operand]
    element = argument.type if widened(value) == argument else value.type
    return Factor(operand, positions[operand], str(element))


def _inputs(value: ir.Value, arguments: Sequence[ir.BlockArgument]) -> set[int]:
    if isinstance(value, ir.BlockArgument):
        return {number for number, argument in enumerate(arguments) if argument == value}
    if value.owner.operation.block != arguments[0].owner:
        return set()
    return set().union(*(_inputs(operand, arguments) for operand in value.owner.operation.operands))
