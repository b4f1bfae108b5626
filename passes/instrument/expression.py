"""Loop bounds and conditions as data: integer expressions over what a recorded run knows.

Values are Python integers in two's complement range of their width: signed, but for one bit,
which is 0 or 1. An index has 64 bits. Arithmetic wraps as the compiled program's does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec


class PlanError(Exception):
    """A plan and the events of a run do not fit together; one line that says where."""


class _Expression(msgspec.Struct, frozen=True, array_like=True):
    """Base of the kinds of expression; one is a short list in JSON."""


class Constant(_Expression, frozen=True, array_like=True, tag="c"):
    """A number."""

    value: int


class WorkgroupId(_Expression, frozen=True, array_like=True, tag="id"):
    """Position of the workgroup in the launch; dimension 0 is x."""

    dimension: int


class WorkgroupCount(_Expression, frozen=True, array_like=True, tag="count"):
    """Workgroups of the launch in one dimension; 0 is x."""

    dimension: int


class Induction(_Expression, frozen=True, array_like=True, tag="iv"):
    """Induction variable of an enclosing loop, by the loop's number in its export."""

    loop: int


class Probed(_Expression, frozen=True, array_like=True, tag="probe"):
    """The last value that the probe `site` reported."""

    site: int


class Apply(_Expression, frozen=True, array_like=True, tag="op"):
    """An operation of `OPERATIONS` on operands of `bits` bits."""

    name: str
    bits: int
    operands: tuple[Expression, ...]


Expression = Constant | WorkgroupId | WorkgroupCount | Induction | Probed | Apply


@dataclass
class Known:
    """What is known at one moment of one workgroup's run."""

    identity: tuple[int, int, int]
    count: tuple[int, int, int]
    inductions: dict[int, int] = field(default_factory=dict)
    probed: dict[int, int] = field(default_factory=dict)


def signed(value: int, bits: int) -> int:
    """`value` wrapped to `bits` bits, signed unless it is one bit."""
    low = unsigned(value, bits)
    return low - (1 << bits) if bits > 1 and low >> (bits - 1) else low


def unsigned(value: int, bits: int) -> int:
    """`value` modulo 2**bits."""
    return value & ((1 << bits) - 1)


def apply(name: str, bits: int, *operands: Expression) -> Expression:
    """`Apply`, made smaller where constants allow it; a fault stays for `evaluate` to find."""
    first, *rest = operands
    if all(isinstance(each, Constant) for each in operands):
        try:
            return Constant(evaluate(Apply(name, bits, operands), Known((0, 0, 0), (1, 1, 1))))
        except PlanError:
            return Apply(name, bits, operands)
    if tuple(rest) == (_NEUTRAL.get(name),):
        return first
    return Constant(0) if (name, rest) == ("rems", [Constant(1)]) else Apply(name, bits, operands)


def evaluate(expression: Expression, known: Known) -> int:
    """The value now. Raises `PlanError` for a value that is not known or a division by zero."""
    match expression:
        case Constant(value):
            return value
        case WorkgroupId(dimension):
            return known.identity[dimension]
        case WorkgroupCount(dimension):
            return known.count[dimension]
        case Induction(loop):
            return _look_up(known.inductions, loop, "loop")
        case Probed(site):
            return _look_up(known.probed, site, "site")
        case Apply(name, bits, operands):
            values = [evaluate(each, known) for each in operands]
            return _apply(name, bits, values)


def _look_up(values: Mapping[int, int], key: int, what: str) -> int:
    if key not in values:
        raise PlanError(f"{what} {key} is used before it has a value")
    return values[key]


def _apply(name: str, bits: int, values: list[int]) -> int:
    operation = OPERATIONS.get(name)
    if operation is None:
        raise PlanError(f"unknown operation {name!r} in the plan")
    try:
        return operation(bits, *values)
    except (ZeroDivisionError, TypeError) as problem:
        raise PlanError(f"{name} of {values}: {problem}") from None


def _wrapped(compute: Callable[..., int]) -> Callable[..., int]:
    return lambda bits, *values: signed(compute(*values), bits)


def _of_unsigned(compute: Callable[..., int]) -> Callable[..., int]:
    return lambda bits, *values: signed(compute(*(unsigned(v, bits) for v in values)), bits)


def _compare(compute: Callable[[int, int], bool], view: Callable[[int, int], int]) -> Operation:
    return lambda bits, a, b: int(compute(view(a, bits), view(b, bits)))


def _towards_zero(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _ceiling(a: int, b: int) -> int:
    return -(-a // b)


_NEUTRAL: Final = {  # right operands that leave the left one as it is
    "add": Constant(0),
    "sub": Constant(0),
    "mul": Constant(1),
    "divs": Constant(1),
    "floordivs": Constant(1),
    "ceildivs": Constant(1),
}
Operation = Callable[..., int]
OPERATIONS: Final[Mapping[str, Operation]] = {
    "add": _wrapped(lambda a, b: a + b),
    "sub": _wrapped(lambda a, b: a - b),
    "mul": _wrapped(lambda a, b: a * b),
    "divs": _wrapped(_towards_zero),
    "divu": _of_unsigned(lambda a, b: a // b),
    "ceildivs": _wrapped(_ceiling),
    "ceildivu": _of_unsigned(_ceiling),
    "floordivs": _wrapped(lambda a, b: a // b),
    "rems": _wrapped(lambda a, b: a - b * _towards_zero(a, b)),
    "remu": _of_unsigned(lambda a, b: a % b),
    "mod": _wrapped(lambda a, b: a % b),  # of affine maps: b is positive
    "mins": _wrapped(min),
    "minu": _of_unsigned(min),
    "maxs": _wrapped(max),
    "maxu": _of_unsigned(max),
    "and": _wrapped(lambda a, b: a & b),
    "or": _wrapped(lambda a, b: a | b),
    "xor": _wrapped(lambda a, b: a ^ b),
    "shl": lambda bits, a, b: signed(a << unsigned(b, bits), bits),
    "shrs": lambda bits, a, b: a >> unsigned(b, bits),
    "shru": lambda bits, a, b: signed(unsigned(a, bits) >> unsigned(b, bits), bits),
    "select": lambda bits, condition, a, b: a if condition else b,
    "zext": lambda bits, a: unsigned(a, bits),  # bits of the narrower side
    "trunc": lambda bits, a: signed(a, bits),  # likewise
    "eq": _compare(lambda a, b: a == b, signed),
    "ne": _compare(lambda a, b: a != b, signed),
    "slt": _compare(lambda a, b: a < b, signed),
    "sle": _compare(lambda a, b: a <= b, signed),
    "sgt": _compare(lambda a, b: a > b, signed),
    "sge": _compare(lambda a, b: a >= b, signed),
    "ult": _compare(lambda a, b: a < b, unsigned),
    "ule": _compare(lambda a, b: a <= b, unsigned),
    "ugt": _compare(lambda a, b: a > b, unsigned),
    "uge": _compare(lambda a, b: a >= b, unsigned),
}
