"""Which element types hold every value of another: what a matrix unit may run work at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from xpu_shark.simulator.element_type import bits


@dataclass(frozen=True)
class Format:
    """Binary floating point: values up to 2**`top`, steps down to 2**`bottom` (subnormals), and
    `digits` significant bits. `largest` is the significand at the top as a share of 2."""

    digits: int
    top: int
    bottom: int
    largest: float


def holds(wide: str, narrow: str) -> bool:
    """Whether every finite value of `narrow` is a value of `wide`.

    Signs of integers do not count: matrix units take either. False for what it does not know.
    """
    if wide == narrow:
        return True
    if _is_int(wide):
        return _is_int(narrow) and bits(wide) >= bits(narrow)
    outer = _FLOATS.get(wide)
    inner = _as_float(narrow)
    return outer is not None and inner is not None and _covers(outer, inner)


def _covers(outer: Format, inner: Format) -> bool:
    digits = outer.digits >= inner.digits and outer.bottom <= inner.bottom
    return digits and (outer.top, outer.largest) >= (inner.top, inner.largest)


def _as_float(element: str) -> Format | None:
    """The smallest format with the values of a type; an integer needs a digit for every bit."""
    if not _is_int(element):
        return _FLOATS.get(element)
    width = bits(element)
    digits = width - 1 if _is_signed(element) and width > 1 else width
    return Format(digits, width - 1, 0, 1.0)


@cache
def _is_int(element: str) -> bool:
    return bool(re.fullmatch(r"[su]?i\d+", element))


def _is_signed(element: str) -> bool:
    return not element.startswith("u")


# IEEE 754-2019, OCP 8-bit and MX formats 1.0, and the FNUZ variants of MLIR's type definitions.
_FLOATS = {
    "f64": Format(53, 1023, -1074, 2 - 2.0**-52),
    "f32": Format(24, 127, -149, 2 - 2.0**-23),
    "tf32": Format(11, 127, -136, 2 - 2.0**-10),
    "f16": Format(11, 15, -24, 2 - 2.0**-10),
    "bf16": Format(8, 127, -133, 2 - 2.0**-7),
    "f8E5M2": Format(3, 15, -16, 1.75),
    "f8E5M2FNUZ": Format(3, 15, -17, 1.75),
    "f8E4M3": Format(4, 7, -9, 1.875),
    "f8E4M3FN": Format(4, 8, -9, 1.75),
    "f8E4M3FNUZ": Format(4, 7, -10, 1.875),
    "f8E4M3B11FNUZ": Format(4, 4, -13, 1.875),
    "f8E3M4": Format(5, 3, -6, 1.9375),
    "f8E8M0FNU": Format(1, 127, -127, 1.0),
    "f6E3M2FN": Format(3, 4, -4, 1.75),
    "f6E2M3FN": Format(4, 2, -3, 1.875),
    "f4E2M1FN": Format(2, 2, -1, 1.5),
}
