"""The metadata chunk of an instrument dump: a FlatBuffer with the identifier IDBD.

A table starts with a signed distance back to its vtable, which holds its own size and then a
16-bit position for every field, 0 where absent. Strings and vectors are a 32-bit distance away
and start with their length (https://flatbuffers.dev/internals).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xpu_shark.compiler.trace.span import Span

_IDENTIFIER: Final = b"IDBD"
_FUNCTIONS, _SITES = 2, 3  # fields of the root table
_NAME = 0  # field of a function
_FUNCTION = 0  # field of a site: index into the functions


@dataclass(frozen=True)
class Metadata:
    """Export names, and for every probe site the index of its export."""

    exports: tuple[str, ...]
    sites: tuple[int, ...]


def read_metadata(span: Span) -> Metadata:
    """Raises `TraceError` where a position points outside or a site names no function."""
    root = span.u32(0, "position of the root table")
    if span.bytes(4, 4, "FlatBuffer identifier") != _IDENTIFIER:
        raise span.wrong(4, 'the FlatBuffer identifier "IDBD"')
    functions = [_text(span, at, _NAME, "function name") for at in _tables(span, root, _FUNCTIONS)]
    sites = []
    for at in _tables(span, root, _SITES):
        place = _field(span, at, _FUNCTION)
        number = 0 if place is None else span.u32(place, "function of a site")
        if number >= len(functions):
            raise span.wrong(place or at, f"a function below {len(functions)}", number)
        sites.append(number)
    return Metadata(tuple(functions), tuple(sites))


def _field(span: Span, table: int, number: int) -> int | None:
    vtable = table - int(span.unpack("i", table, "distance to a vtable")[0])
    (size,) = span.unpack("H", vtable, "size of a vtable")
    slot = 4 + 2 * number
    if slot + 2 > size:
        return None
    (offset,) = span.unpack("H", vtable + slot, "position of a field")
    return table + int(offset) if offset else None


def _tables(span: Span, table: int, number: int) -> list[int]:
    place = _field(span, table, number)
    if place is None:
        return []
    vector = place + span.u32(place, "position of a vector")
    count = span.u32(vector, "length of a vector")
    if count > (span.length - vector - 4) // 4:
        raise span.wrong(vector, "a vector that ends within its chunk", f"{count} entries")
    places = (vector + 4 + 4 * entry for entry in range(count))
    return [at + span.u32(at, "position of a table") for at in places]


def _text(span: Span, table: int, number: int, what: str) -> str:
    place = _field(span, table, number)
    if place is None:
        return ""
    at = place + span.u32(place, f"position of {what}")
    return span.text(at + 4, span.u32(at, f"length of {what}"), what)
