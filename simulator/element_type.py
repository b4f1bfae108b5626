"""Element types by their MLIR names: width, storage and family."""

from __future__ import annotations

import re
from functools import cache

_NAME = re.compile(r"(?:[su]?i|bf|tf|f)(\d+)")


@cache
def bits(element: str) -> int:
    """Bits of one element as computed on: `i4` 4, `bf16` 16, `f8E4M3FN` 8, `index` 64.

    A complex type counts both parts. Raises `ValueError` for anything else.
    """
    if element == "index":
        return 64
    if element.startswith("complex<"):
        return 2 * bits(element[len("complex<") : -1])
    if match := _NAME.match(element):
        return int(match[1])
    raise ValueError(f"element type {element!r} is not a number type")


@cache
def storage_bits(element: str) -> int:
    """Bits of one element in memory, as IREE packs it: i1 takes a byte, i2 and i4 are packed."""
    width = bits(element)
    if width in (2, 4):
        return width
    return -(-width // 8) * 8 if width < 8 else 1 << (width - 1).bit_length()


def storage_bytes(element: str, count: int) -> int:
    """Bytes of `count` elements in memory, rounded up to a whole byte."""
    return -(-count * storage_bits(element) // 8)


@cache
def is_float(element: str) -> bool:
    """Whether arithmetic on the type is floating point (complex counts as such)."""
    return element.startswith(("f", "bf", "tf", "complex<"))
