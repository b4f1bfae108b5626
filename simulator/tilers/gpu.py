"""Workgroup tiles for many cores that take them wave by wave, as GPU libraries choose them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

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
ROW_CHUNKS = (4096, 512)  # elements of a row at a time where the core does not keep it whole
WARP_ROW = 1024  # longest row that a warp takes alone: PyTorch, softmax of the last dimension


def choose(kernel: BoundKernel, target: Target) -> Tiling:
    """Of the candidates that fit, the first (largest) whose estimate is about the least: a
    larger tile loads less, which the estimate does not see where loads only just hide. Rows are
    kept whole where they fit."""
    smallest: tuple[int, Tiling] | None = None
    for group in _candidates(kernel, target):
        scored = [(estimate(kernel, tiling, target), tiling) for tiling in group]
        fitting = [(score, tiling) for score, tiling in scored if score.fits]
        if fitting:
            least = min(score.time_ps for score, _ in fitting)
            return next(t for score, t in fitting if score.time_ps <= ABOUT * least)
        used = min(((score.used, tiling) for score, tiling in scored), key=lambda pair: pair[0])
        smallest = used if smallest is None or used[0] < smallest[0] else smallest
    assert smallest is not None
    return smallest[1]


def _candidates(kernel: BoundKernel, target: Target) -> Iterator[list[Tiling]]:
    """Groups of tilings; the first with one that fits is chosen from."""
    nest = root(kernel, target)
    shared = shared_axes(kernel)
    if nest.contraction is not None:
        yield [_matrix(kernel, target, nest, shared, rows, cols) for rows, cols in MATRIX_TILES]
        return
    row = _row_bytes(kernel, nest, shared)
    window = target.dma.window_bytes
    points = (0,) if _row_a_workgroup(kernel, target, nest, row) else ELEMENTWISE_TILES
    for chunk in (0, *ROW_CHUNKS) if window is None or row <= window else ROW_CHUNKS[-1:]:
        yield [_elementwise(kernel, nest, shared, each, chunk) for each in points]


def _row_bytes(kernel: BoundKernel, nest: BoundNest, shared: tuple[int, ...]) -> int:
    """Bytes of the longest operand along the axes that workgroups do not share out."""
    tile = [
        1 if axis in shared else extent
        for axis, extent in zip(nest.axes, nest.extents, strict=True)
    ]
    parts = (region(kernel.tensors[read.tensor], read, tile).bytes for read in nest.reads)
    return max(parts, default=0)


def _row_a_workgroup(kernel: BoundKernel, target: Target, nest: BoundNest, row: int) -> bool:
    """Whether a library's kernel takes one row a workgroup: one that reduces rows and computes as
    many results, unless it is a softmax of short rows. Rows shorter than a burst go together."""
    reduced = {a for a, axis in enumerate(kernel.axes) if not axis.parallel}
    spread = any(all(each.parallel) and reduced <= set(each.axes) for each in kernel.nests)
    if not nest.axes or nest.axes[-1] not in reduced or not spread:
        return False
    exponential = any(work.kind == "exp" for each in kernel.nests for work in each.work)
    short = prod(kernel.axes[axis].extent for axis in reduced) <= WARP_ROW
    return row >= target.memory[0].burst_bytes and not (exponential and short)


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
