"""Figures that say how far simulated times are from measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median, quantiles

HEADER = (
    f"{'':<32}{'rows':>5}{'mean %':>8}{'median':>8}{'bias %':>8}{'p90 %':>8}{'worst':>8}  worst row"
)
Pair = tuple[str, float, float]  # name, simulated, measured


def error(simulated: float, measured: float) -> float:
    """Relative error in percent, positive where the simulation is too slow."""
    return 100 * (simulated / measured - 1)


def mean_error(pairs: Sequence[Pair]) -> float:
    """Mean absolute percentage error."""
    return fmean(abs(error(simulated, measured)) for _, simulated, measured in pairs)


def figures(pairs: Sequence[Pair]) -> str:
    """One line: rows, mean and median absolute error, bias, 90th percentile, worst, its name."""
    errors = [error(simulated, measured) for _, simulated, measured in pairs]
    sizes = sorted(map(abs, errors))
    tail = quantiles(sizes, n=10, method="inclusive")[-1] if len(sizes) > 1 else sizes[0]
    worst = max(range(len(errors)), key=lambda i: abs(errors[i]))
    return (
        f"{len(errors):>5}{fmean(sizes):>8.1f}{median(sizes):>8.1f}{fmean(errors):>8.1f}"
        f"{tail:>8.1f}{errors[worst]:>8.1f}  {pairs[worst][0]}"
    )
