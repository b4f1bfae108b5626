"""Tiles of one product where no operand can stay: a block of the result does, and the operands
pass it in steps of the reduction that fill what is left of the scratchpad, twice."""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.residency import capacity
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.granule import granules
from xpu_shark.simulator.tilers.streaming import Product

# Rows and columns of a block. The first whose operands fit once over the whole reduction, so that
# nothing is fetched again; else operands stream past a smaller one.
EDGES = ((2048, 2048), (2048, 1024))
WHOLE_K = 2048  # a longer reduction is streamed even where it fits, so that loads overlap
STREAMED_EDGES = (1024, 1024)
SHARES = (1.0, 0.75, 0.5, 0.25)  # of the scratchpad: less where other work needs room


def choices(kernel: BoundKernel, target: Target, work: Product) -> Iterator[Tiling]:
    """Blocks of equal size, as few as keep to the edges: with whole operands, then streamed."""
    if work.m < 0 or work.n < 0:
        return
    order = tuple(a for a, axis in enumerate(kernel.axes) if axis.parallel)
    room = capacity(kernel, target)
    for rows, cols in EDGES:
        tile = [max(axis.extent, 1) for axis in kernel.axes]
        inputs, block = _cut(kernel, target, work, tile, rows, cols)
        if inputs + block <= room and tile[work.k] <= WHOLE_K:
            yield Tiling(tuple(tile), order)
    for share in SHARES:
        tile = [max(axis.extent, 1) for axis in kernel.axes]
        inputs, block = _cut(kernel, target, work, tile, *STREAMED_EDGES)
        most = int(max(share * room - block, 0)) * tile[work.k] // (2 * inputs)
        if inputs + block > (target.dma.window_bytes or room):
            most = min(most, -(-tile[work.k] // 2))  # in steps: no operand stays for the next block
        tile[work.k] = even(tile[work.k], max(most, 1), granules(kernel, target)[work.k])
        yield Tiling(tuple(tile), order)


def _cut(
    kernel: BoundKernel, target: Target, work: Product, tile: list[int], rows: int, cols: int
) -> tuple[int, int]:
    """Set the block in `tile`; bytes of its operands over the whole reduction and of itself."""
    steps = granules(kernel, target)
    m, n = (max(kernel.axes[axis].extent, 1) for axis in (work.m, work.n))
    tile[work.m] = even(m, rows, steps[work.m])
    tile[work.n] = even(n, cols, steps[work.n])
    inputs = work.lhs * tile[work.m] // m + work.rhs * tile[work.n] // n
    return max(inputs, 1), work.result * tile[work.m] * tile[work.n] // (m * n)


def even(extent: int, most: int, step: int) -> int:
    """The size of equal pieces of `extent` of at most `most`, in whole steps where one fits."""
    if extent <= most:
        return extent
    most = max(most // step * step, step)
    pieces = -(-extent // most)
    return min(most, -(-extent // (pieces * step)) * step)
