"""Collects launches in order while a file is read."""

from __future__ import annotations

from array import array

import numpy as np

from xpu_shark.compiler.trace.model import UNKNOWN, Column, Export, Iteration, Kind, Launches


class Builder:
    """Kinds are numbered as they first appear; `begin` opens an iteration."""

    def __init__(self) -> None:
        self._numbers: dict[Kind, int] = {}
        self._columns = (array("q"), array("q"), array("q"))
        self._starts: list[tuple[str, int]] = []
        self.exports: dict[str, Export] = {}

    def __len__(self) -> int:
        return len(self._columns[0])

    def begin(self, function: str) -> None:
        self._starts.append((function, len(self)))

    def add(self, kind: Kind, start_ns: int = UNKNOWN, duration_ns: int = UNKNOWN) -> None:
        number = self._numbers.setdefault(kind, len(self._numbers))
        for column, value in zip(self._columns, (number, start_ns, duration_ns), strict=True):
            column.append(value)

    def kinds(self) -> tuple[Kind, ...]:
        return tuple(self._numbers)

    def launches(self) -> Launches:
        return Launches(*(_column(each) for each in self._columns))

    def iterations(self) -> tuple[Iteration, ...]:
        """Those that launched anything; launches before the first `begin` belong to none."""
        ends = [first for _, first in self._starts[1:]] + [len(self)]
        return tuple(
            Iteration(function=function, first=first, launches=end - first)
            for (function, first), end in zip(self._starts, ends, strict=True)
            if end > first
        )


def _column(values: array[int]) -> Column:
    return np.array(values, np.int64)
