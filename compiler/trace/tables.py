"""Turns rows of structs into columns and back: how the small tables of a trace are stored.

A string is its number in one table of strings; a tuple is a slice of one array of values that
`<column>_ends` delimits. Everything else is an integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from xpu_shark.compiler.trace.archive import Array

NAMES: Final = "strings"


class Strings:
    """Each string once, numbered as they come."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        self._numbers = {text: number for number, text in enumerate(known)}
        self._known = list(known)

    def number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self._known)
            self._known.append(text)
        return self._numbers[text]

    def text(self, number: int) -> str:
        """Raises `ValueError` for a number that no string has."""
        if not 0 <= number < len(self._known):
            raise ValueError(f"expected a string below {len(self._known)}, found {number}")
        return self._known[number]

    def arrays(self) -> dict[str, Array]:
        raw = [text.encode() for text in self._known]
        ends = np.cumsum([len(each) for each in raw], dtype=np.int64)
        return {NAMES: np.frombuffer(b"".join(raw), np.uint8), f"{NAMES}_ends": ends}


def strings(arrays: dict[str, Array]) -> Strings:
    """Raises `KeyError` or `ValueError` where the table is not whole."""
    blob = arrays[NAMES].tobytes()
    return Strings([blob[a:b].decode() for a, b in _slices(arrays, NAMES, len(blob))])


def columns(
    prefix: str, row: type[msgspec.Struct], rows: Sequence[Any], names: Strings
) -> dict[str, Array]:
    """One array a field of `row`, two for a field that holds tuples."""
    result: dict[str, Array] = {}
    for field in row.__struct_fields__:
        values = [getattr(each, field) for each in rows]
        name = f"{prefix}_{field}"
        if any(isinstance(value, tuple) for value in values):
            flat = [item for value in values for item in value]
            kind = np.float64 if any(isinstance(item, float) for item in flat) else np.int64
            result[name] = np.array(flat, kind)
            result[f"{name}_ends"] = np.cumsum([len(value) for value in values], dtype=np.int64)
        else:
            numbers = [names.number(v) if isinstance(v, str) else int(v) for v in values]
            result[name] = np.array(numbers, np.int64)
    return result


def rows(
    prefix: str, row: type[msgspec.Struct], arrays: dict[str, Array], names: Strings
) -> list[Any]:
    """The structs again. Raises `KeyError`, `ValueError` or msgspec's `ValidationError`."""
    fields = msgspec.structs.fields(row)
    first = arrays[f"{prefix}_{fields[0].name}"]
    values: list[list[Any]] = []
    for field in fields:
        name = f"{prefix}_{field.name}"
        column = arrays[name].tolist() if name in arrays else []
        if f"{name}_ends" in arrays:
            values.append([tuple(column[a:b]) for a, b in _slices(arrays, name, len(column))])
        elif field.type in (int, bool):
            values.append([bool(v) if field.type is bool else v for v in column])
        elif not len(first):
            values.append([])
        else:
            values.append([names.text(number) for number in column])
    table = [
        dict(zip(row.__struct_fields__, each, strict=True)) for each in zip(*values, strict=True)
    ]
    return [msgspec.convert(each, row) for each in table]


def _slices(arrays: dict[str, Array], name: str, length: int) -> list[tuple[int, int]]:
    ends: NDArray[np.int64] = arrays[f"{name}_ends"]
    places = [0, *ends.tolist()]
    if any(a > b for a, b in pairwise(places)) or places[-1] > length:
        raise ValueError(f"expected rising ends up to {length} in {name}_ends")
    return list(pairwise(places))
