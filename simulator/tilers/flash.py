"""Tiles of attention as a fused kernel walks them: a head, a block of queries, a block of keys."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.residency import capacity
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.work import compulsory_bytes

BLOCK = 512  # queries and keys: what JAX's Pallas kernels for TPUs are run with
LANES = 128  # such kernels take heads whose size fills vector registers


def choices(kernel: BoundKernel, target: Target) -> Iterator[Tiling]:
    """Blocks of a head where a fused kernel takes these sizes; nothing where the kernel is no
    attention. Few queries are worked on with everything at once, and what fits no fused kernel as
    product, softmax and product, one after another."""
    scores = next((nest for nest in kernel.nests if nest.contraction), None)
    if not kernel.online or scores is None:
        return
    dims = scores.contraction
    assert dims is not None
    width, keys = (prod(scores.extents[dim] for dim in role) for role in (dims.k, dims.n))
    rows = [scores.extents[dim] for dim in dims.m if scores.extents[dim] > 1]
    if width % LANES or (keys > LANES and keys % LANES):
        yield from _apart(kernel, target, scores)
    elif len(rows) > 1 or (rows and rows[0] < LANES):
        yield whole(kernel)
    else:
        yield from _blocks(kernel, scores)


def whole(kernel: BoundKernel) -> Tiling:
    """Everything at once: each step of all heads done before the next begins."""
    tile = tuple(max(axis.extent, 1) for axis in kernel.axes)
    return Tiling(tile, tuple(a for a, axis in enumerate(kernel.axes) if axis.parallel))


def _blocks(kernel: BoundKernel, scores: BoundNest) -> Iterator[Tiling]:
    dims = scores.contraction
    assert dims is not None
    for block in (BLOCK, BLOCK // 2, BLOCK // 4):
        tile = list(whole(kernel).tile)
        for dim in dims.batch:
            tile[scores.axes[dim]] = 1
        for dim in (*dims.m[-1:], *dims.n[-1:]):
            tile[scores.axes[dim]] = min(tile[scores.axes[dim]], block)
        yield Tiling(tuple(tile), whole(kernel).order)


def _apart(kernel: BoundKernel, target: Target, scores: BoundNest) -> Iterator[Tiling]:
    """Heads in steps that fill the compiler's window, then in smaller ones."""
    dims = scores.contraction
    assert dims is not None
    every, window = whole(kernel), target.dma.window_bytes or capacity(kernel, target)
    result = kernel.tensors[scores.writes[0].tensor]
    moving = compulsory_bytes(kernel) + storage_bytes(dims.lhs_element, prod(result.shape))
    heads = max((scores.axes[d] for d in dims.batch), key=lambda a: every.tile[a], default=None)
    steps = max(1, round(moving / window)) if heads is not None else 1
    while True:
        tile = list(every.tile)
        if heads is not None:
            tile[heads] = -(-tile[heads] // steps)
        yield Tiling(tuple(tile), every.order, apart=True)
        if heads is None or tile[heads] == 1:
            return
        steps *= 2
