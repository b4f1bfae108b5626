"""Tiles for one core with a large scratchpad filled by DMA: as large as fits, then as many as
overlap well. Stands for a compiler like XLA: everything resident if it can be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.estimate import Estimate, estimate
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers import flash, stationary, streaming
from xpu_shark.simulator.tilers.shrink import shrink

MOST_ORDERS = 6  # loop orders compared: all of three looped axes


def choose(kernel: BoundKernel, target: Target) -> Tiling:
    """One product: keep an operand and stream. Anything else: start from everything at once,
    shrink until it fits, then compare loop orders."""
    for tiling in _library(kernel, target):
        if estimate(kernel, tiling, target).fits:
            return tiling
    order = tuple(a for a, axis in enumerate(kernel.axes) if axis.parallel)
    whole = Tiling(tuple(max(axis.extent, 1) for axis in kernel.axes), order)
    tiling, score = shrink(kernel, whole, target)
    return _reordered(kernel, tiling, target, score)


def _library(kernel: BoundKernel, target: Target) -> Iterator[Tiling]:
    """Tilings that the compiler has a pattern for, preferred first."""
    yield from flash.choices(kernel, target)
    work = streaming.product(kernel, target)
    if work is not None:
        yield from streaming.choices(kernel, target, work)
        yield from stationary.choices(kernel, target, work)


def _reordered(kernel: BoundKernel, tiling: Tiling, target: Target, score: Estimate) -> Tiling:
    """The loop order with the least estimate; loops that turn once do not count."""
    extent = [axis.extent for axis in kernel.axes]
    looped = [axis for axis in tiling.order if tiling.tile[axis] < extent[axis]]
    if len(looped) < 2 or len(looped) > 3:
        return tiling
    rest = tuple(axis for axis in tiling.order if axis not in looped)
    best, chosen = score, tiling
    for order in list(permutations(looped))[:MOST_ORDERS]:
        candidate = Tiling(tiling.tile, (*order, *rest))
        result = estimate(kernel, candidate, target)
        if result.fits >= best.fits and result.time_ps < best.time_ps:
            best, chosen = result, candidate
    return chosen
