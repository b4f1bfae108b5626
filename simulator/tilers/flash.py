"""Tiles of attention as a fused kernel walks them: a head, a block of queries, a block of keys."""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.target import Target

BLOCK = 512  # queries and keys: what JAX's Pallas kernels for TPUs are run with
LANES = 128  # such kernels take heads whose size fills vector registers


def choices(kernel: BoundKernel, target: Target) -> Iterator[Tiling]:
    """Nothing where the kernel is no attention, or its heads are too narrow for a fused kernel."""
    scores = next((nest for nest in kernel.nests if nest.contraction), None)
    if not kernel.online or scores is None:
        return
    dims = scores.contraction
    assert dims is not None
    width = 1
    for dim in dims.k:
        width *= scores.extents[dim]
    rows = [scores.extents[dim] for dim in dims.m if scores.extents[dim] > 1]
    if width % LANES or len(rows) > 1 or (rows and rows[0] < LANES):
        yield whole(kernel)
        return
    for block in (BLOCK, BLOCK // 2, BLOCK // 4):
        tile = [max(axis.extent, 1) for axis in kernel.axes]
        for dim in dims.batch:
            tile[scores.axes[dim]] = 1
        for dim in (*dims.m[-1:], *dims.n[-1:]):
            tile[scores.axes[dim]] = min(tile[scores.axes[dim]], block)
        yield Tiling(tuple(tile), tuple(a for a, axis in enumerate(kernel.axes) if axis.parallel))


def whole(kernel: BoundKernel) -> Tiling:
    """Everything at once: each step of all heads done before the next begins."""
    tile = tuple(max(axis.extent, 1) for axis in kernel.axes)
    return Tiling(tile, tuple(a for a, axis in enumerate(kernel.axes) if axis.parallel))
