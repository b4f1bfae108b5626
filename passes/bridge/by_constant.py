"""What code generators make of an operation with a constant: a product, a shift, a root.

Powers: the algebraic simplifications of MLIR's math dialect, which IREE runs for every backend,
and XLA its own of the same. Divisions of integers: Granlund and Montgomery, "Division by
Invariant Integers using Multiplication", PLDI 1994, as in LLVM: the high half of a product, two
shifts and two sums; by a power of two shifts, and a sum where the dividend has a sign. Divisions
of floats by a power of two are products, as LLVM's InstCombine makes them.
"""

from __future__ import annotations

from math import frexp

from iree.compiler import ir

MOST_FACTORS = 8  # a whole power beyond is not taken apart
_POWERS: dict[float, dict[str, int]] = {
    1.0: {},
    2.0: {"mul": 1},
    3.0: {"mul": 2},
    -1.0: {"div": 1},
    0.5: {"sqrt": 1},
    -0.5: {"rsqrt": 1},
}
_DIVISIONS = {"arith.divsi": True, "arith.divui": False, "arith.remsi": True, "arith.remui": False}
_CONSTANT = "arith.constant"


def constant(value: ir.Value) -> float | int | None:
    """The number that `value` is, None where it is none or not known before the run."""
    if isinstance(value, ir.BlockArgument) or value.owner.operation.name != _CONSTANT:
        return None
    number = value.owner.operation.attributes["value"]
    if isinstance(number, ir.DenseElementsAttr) and number.is_splat:
        number = number.get_splat_value()
    return number.value if isinstance(number, ir.FloatAttr | ir.IntegerAttr) else None


def simpler(op: ir.Operation) -> dict[str, int] | None:
    """Kinds of work that `op` becomes for its second operand; None where it stays what it is."""
    number = constant(op.operands[1]) if len(op.operands) == 2 else None
    if number is None:
        return None
    if op.name == "arith.divf":  # the reciprocal of a power of two is exact
        return {"mul": 1} if abs(frexp(float(number))[0]) == 0.5 else None
    if op.name == "math.powf":
        return _POWERS.get(float(number))
    if op.name in ("math.fpowi", "math.ipowi"):
        return _repeated(int(number)) if abs(number) <= MOST_FACTORS else None
    if op.name in _DIVISIONS and number:
        return _divided(int(number), _DIVISIONS[op.name], op.name.startswith("arith.rem"))
    return None


def _repeated(exponent: int) -> dict[str, int]:
    """As many products as the exponent says, and a division where it is negative."""
    products = {"mul": abs(exponent) - 1} if abs(exponent) > 1 else {}
    return {**products, "div": 1} if exponent < 0 else products


def _divided(divisor: int, signed: bool, remainder: bool) -> dict[str, int]:
    """The quotient, and for a remainder what is left of the dividend."""
    size = abs(divisor)
    if size & (size - 1):
        kinds = {"mul": 1, "shift": 2, "add": 2}
        return {**kinds, "mul": 2, "add": 3} if remainder else kinds
    if not signed:
        return {"logic" if remainder else "shift": 1}
    return {"shift": 2, "add": 2, "logic": 1} if remainder else {"shift": 3, "add": 1}
