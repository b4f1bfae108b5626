"""What the best tiling found gains over the default one, and where it is faster than measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

HEADER = f"{'':<22}{'than':<10}{'rows':>5}{'faster':>8}{'median %':>10}{'most %':>8}  row"


@dataclass(frozen=True)
class Times:
    """One row, in microseconds: what was measured, and both simulated times."""

    operator: str
    name: str
    measured: float
    default: float
    best: float


def lines(times: Sequence[Times]) -> Iterator[str]:
    """Two lines an operator: the best tiling against what was measured and against the default
    one, by how much it is faster where it is."""
    yield HEADER
    for operator in dict.fromkeys(each.operator for each in times):
        rows = [each for each in times if each.operator == operator]
        for than in ("measured", "default"):
            gains = [100 * (1 - each.best / getattr(each, than)) for each in rows]
            faster = [gain for gain in gains if gain > 0]
            most = max(range(len(rows)), key=gains.__getitem__)
            middle = median(faster) if faster else 0.0
            yield (
                f"{operator:<22}{than:<10}{len(rows):>5}{len(faster):>8}{middle:>10.1f}"
                f"{max(gains[most], 0.0):>8.1f}  {rows[most].name if faster else ''}"
            )


def slower(times: Sequence[Times]) -> list[Times]:
    """Rows whose best tiling takes longer than the default one: there must be none."""
    return [each for each in times if each.best > each.default]
