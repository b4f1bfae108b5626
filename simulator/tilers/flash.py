"""Tiles of attention as a fused kernel walks them: a head, a block of queries, a block of keys."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.residency import KEPT_SHARE, capacity
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.work import compulsory_bytes

BLOCK = 512  # most queries, and keys beside them: what JAX's Pallas kernels for TPUs are run with
MOST_KEYS = 4096  # beside fewer queries the block has as many scores in more keys
LANES, SUBLANES = 128, 8  # of a vector register: such kernels take heads whose size fills lanes


def choices(kernel: BoundKernel, target: Target) -> Iterator[Tiling]:
    """Blocks of a head where a fused kernel takes these sizes; nothing where the kernel is no
    attention. What fits no fused kernel runs as product, softmax and product, one after another;
    queries along several dims are worked on with everything at once."""
    scores = next((nest for nest in kernel.nests if nest.contraction), None)
    if not kernel.online or scores is None:
        return
    dims = scores.contraction
    assert dims is not None
    if prod(scores.extents[dim] for dim in dims.k) % LANES:
        yield from _apart(kernel, target, scores)
    elif sum(scores.extents[dim] > 1 for dim in dims.m) > 1:
        yield whole(kernel)
    else:
        staged = compulsory_bytes(kernel) <= KEPT_SHARE * capacity(kernel, target)
        yield from _blocks(kernel, scores, staged)


def whole(kernel: BoundKernel) -> Tiling:
    """Everything at once: each step of all heads done before the next begins."""
    tile = tuple(max(axis.extent, 1) for axis in kernel.axes)
    return Tiling(tile, tuple(a for a, axis in enumerate(kernel.axes) if axis.parallel))


def _blocks(kernel: BoundKernel, scores: BoundNest, staged: bool) -> Iterator[Tiling]:
    dims = scores.contraction
    assert dims is not None
    for block in (BLOCK, BLOCK // 2, BLOCK // 4):
        tile, queries = list(whole(kernel).tile), 1
        for dim in dims.batch:
            tile[scores.axes[dim]] = 1
        for dim in dims.m:
            queries = max(queries, _power_of_two(min(scores.extents[dim], block)))
            tile[scores.axes[dim]] = min(tile[scores.axes[dim]], max(queries, SUBLANES))
        keys = min(block * block // queries, MOST_KEYS) if queries > 1 else block
        for dim in dims.n[-1:]:
            tile[scores.axes[dim]] = _in_lanes(min(scores.extents[dim], keys))
        yield Tiling(tuple(tile), whole(kernel).order, staged=staged)


def _power_of_two(size: int) -> int:
    """The largest that is no more than `size`, which is positive."""
    return 1 << (size.bit_length() - 1)


def _in_lanes(keys: int) -> int:
    """Whole registers of keys where there is one: the rest is a block of its own."""
    return keys // LANES * LANES if keys >= LANES else max(keys, 1)


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
