"""The vector unit: element-wise work, reductions, and products that no matrix unit takes."""

from __future__ import annotations

from collections.abc import Mapping

from xpu_shark.simulator.element_type import bits
from xpu_shark.simulator.target import Target, Vector
from xpu_shark.simulator.units.cost import NONE, Cost, ceildiv

# Functions that a unit of 32 bits, or a sequence of operations in 32 bits, computes.
SPECIAL = frozenset("div rem int_div exp log sqrt rsqrt tanh erf sin cos pow".split())


def work_cost(
    target: Target,
    counts: Mapping[tuple[str, str], int],
    *,
    points: int = 1,
    padded_points: int = 1,
) -> Cost:
    """Operations by (kind, element type) on one core, one after another.

    `counts` covers `points` executions of a body; the unit executes `padded_points` of them,
    masked lanes included (`padded` gives that number). A multiply-add is one operation.
    """
    unit = target.vector
    cycles = sum(count * op_cycles(unit, *key) for key, count in counts.items())
    if not cycles:
        return NONE
    cycles *= max(padded_points / points, 1.0) / unit.lanes
    return Cost(target.ps(cycles), target.ps(unit.latency_cycles))


def op_cycles(unit: Vector, kind: str, element: str) -> float:
    """Cycles of one operation on as many elements as there are lanes. Arithmetic on two narrow
    elements at once does not make a special function faster, unless the type is `packed`."""
    per_op, cycles = unit.cycles_per_op, element_cycles(unit, element)
    if kind in SPECIAL and element not in unit.packed:
        cycles = max(cycles, 1.0)
    return per_op.get(kind, per_op["default"]) * cycles


def element_cycles(unit: Vector, element: str) -> float:
    """What a type costs relative to 32 bits.

    The target's own entry first; packed types in proportion to their width; 64 bits double and a
    complex type as its parts; anything else narrow takes a whole lane.
    """
    if element in unit.element_cycles:
        return unit.element_cycles[element]
    if element.startswith("complex<"):
        return 2 * element_cycles(unit, element[len("complex<") : -1])
    if element in unit.packed:
        return bits(element) / 32
    return float(max(1, ceildiv(bits(element), 32)))


def padded(unit: Vector, points: int, innermost: int) -> int:
    """Points executed where rows of `innermost` points each end in a partly masked instruction."""
    if not points or not innermost:
        return 0
    width = unit.width or unit.lanes
    return ceildiv(points, innermost) * ceildiv(innermost, width) * width
