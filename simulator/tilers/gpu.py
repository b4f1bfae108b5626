"""Workgroup tiles for many cores that take them wave by wave, as GPU libraries choose them."""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.footprint import region
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.granule import granules, root

# (rows, columns) of the result that one workgroup computes: the shapes that tensor-core
# libraries ship, largest first.
MATRIX_TILES = (
    (256, 128),
    (128, 256),
    (128, 128),
    (128, 64),
    (64, 128),
    (64, 64),
    (32, 64),
    (16, 64),
)
REDUCTION_STEP_BYTES = 64  # one operand row of the reduction per step: 32 elements of 16 bits
ABOUT = 1.03  # estimates this close are taken for equal
ELEMENTWISE_TILES = (8192, 4096, 2048, 1024, 256)


def choose(kernel: BoundKernel, target: Target) -> Tiling:
    """Of the candidates that fit, the first (largest) whose estimate is about the least: a
    larger tile loads less, which the estimate does not see where loads only just hide."""
    scored = [(estimate(kernel, tiling, target), tiling) for tiling in _candidates(kernel, target)]
    fitting = [(score, tiling) for score, tiling in scored if score.fits]
    if not fitting:
        return min(scored, key=lambda pair: pair[0].used)[1]
    least = min(score.time_ps for score, _ in fitting)
    return next(tiling for score, tiling in fitting if score.time_ps <= ABOUT * least)


def _candidates(kernel: BoundKernel, target: Target) -> Iterator[Tiling]:
    nest = root(kernel, target)
    shared = shared_axes(kernel)
    if nest.contraction is not None:
        for rows, cols in MATRIX_TILES:
            yield _matrix(kernel, target, nest, shared, rows, cols)
        return
    chunks = (0, 4096, 512) if _keeps_rows(kernel, target, nest) else (512,)
    for points in ELEMENTWISE_TILES:
        for chunk in chunks:
            yield _elementwise(kernel, nest, shared, points, chunk)


def _keeps_rows(kernel: BoundKernel, target: Target, nest: BoundNest) -> bool:
    """Whether library kernels keep a whole row on the chip from pass to pass."""
    shared = shared_axes(kernel)
    tile = [
        1 if axis in shared else extent
        for axis, extent in zip(nest.axes, nest.extents, strict=True)
    ]
    row = max(
        (region(kernel.tensors[read.tensor], read, tile).bytes for read in nest.reads), default=0
    )
    return target.dma.window_bytes is None or row <= target.dma.window_bytes


def shared_axes(kernel: BoundKernel) -> tuple[int, ...]:
    """Parallel axes that every nest iterates over: those that workgroups are made of."""
    return tuple(
        axis
        for axis in range(len(kernel.axes))
        if kernel.axes[axis].parallel and all(axis in nest.axes for nest in kernel.nests)
    )


def _matrix(
    kernel: BoundKernel,
    target: Target,
    nest: BoundNest,
    shared: tuple[int, ...],
    rows: int,
    cols: int,
) -> Tiling:
    dims, steps = nest.contraction, granules(kernel, target)
    assert dims is not None
    tile = [max(axis.extent, 1) for axis in kernel.axes]
    for dim in (*dims.batch, *dims.m, *dims.n):
        if nest.axes[dim] in shared:
            tile[nest.axes[dim]] = 1
    for members, size in ((dims.m, rows), (dims.n, cols)):
        _fill(kernel, tile, [nest.axes[d] for d in members if nest.axes[d] in shared], size)
    left = max(32, steps[nest.axes[dims.k[-1]]])
    for dim in reversed(dims.k):
        axis = nest.axes[dim]
        tile[axis] = max(1, min(kernel.axes[axis].extent, left))
        left = max(1, left // tile[axis])
    return Tiling(tuple(tile), shared)


def _elementwise(
    kernel: BoundKernel, nest: BoundNest, shared: tuple[int, ...], points: int, chunk: int
) -> Tiling:
    tile = [max(axis.extent, 1) for axis in kernel.axes]
    own = 1
    for axis, size in enumerate(tile):
        if axis not in shared:
            if chunk:
                tile[axis] = min(size, chunk)
            own *= tile[axis] if axis in nest.axes else 1
    for axis in shared:
        tile[axis] = 1
    _fill(kernel, tile, list(shared), max(1, points // own))
    return Tiling(tuple(tile), shared)


def _fill(kernel: BoundKernel, tile: list[int], axes: list[int], points: int) -> None:
    """Give `points` to the innermost axes first."""
    left = points
    for axis in reversed(axes):
        tile[axis] = max(1, min(kernel.axes[axis].extent, left))
        left = max(1, left // tile[axis])
