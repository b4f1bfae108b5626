"""Tiles of attention as a fused kernel walks them: a head, a block of queries, a block of keys.

Two kinds of kernel. One takes heads whose queries and keys lie side by side: everything is loaded
before it where there is room, else the blocks of a head in turns with the work on them. The other
one is for serving, where a cache has heads beside each other in every token: registers of eight
heads come together, as many keys of them as fill the compiler's window, and load ahead; the kernel
walks over them a cached head, with all query heads that share it, at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.head_layout import LANES, SUBLANES, heads_of, tokens_of
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.residency import KEPT_SHARE, capacity
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.stationary import even
from xpu_shark.simulator.work import compulsory_bytes

BLOCK = 512  # most queries, and keys beside them: what JAX's Pallas kernels for TPUs are run with
MOST_KEYS = 4096  # beside fewer queries the block has as many scores in more keys


def choices(kernel: BoundKernel, target: Target) -> Iterator[Tiling]:
    """Blocks of a head where a fused kernel takes these sizes; nothing where the kernel is no
    attention. What fits no fused kernel runs as product, softmax and product, one after another."""
    scores = next((nest for nest in kernel.nests if nest.contraction), None)
    if not kernel.online or scores is None or not scores.points:
        return
    dims = scores.contraction
    assert dims is not None
    if prod(scores.extents[dim] for dim in dims.k) % LANES:
        yield from _apart(kernel, target, scores)
    elif heads_of(scores) >= 0:
        yield from _served(kernel, target, scores)
    else:
        yield from _plain(kernel, target, scores)


def whole(kernel: BoundKernel) -> Tiling:
    """Everything at once: each step of all heads done before the next begins."""
    tile = tuple(max(axis.extent, 1) for axis in kernel.axes)
    return Tiling(tile, tuple(a for a, axis in enumerate(kernel.axes) if axis.parallel))


def _plain(kernel: BoundKernel, target: Target, scores: BoundNest) -> Iterator[Tiling]:
    """Blocks one after another, of everything or, where that is too much, of a head; the keys of
    which come in blocks where they are too many."""
    dims = scores.contraction
    assert dims is not None
    every = whole(kernel)
    staged = compulsory_bytes(kernel) <= KEPT_SHARE * capacity(kernel, target)
    for block in (BLOCK, BLOCK // 2, BLOCK // 4):
        tile = list(every.tile)
        for dim in dims.batch:
            tile[scores.axes[dim]] = 1
        queries = _cut(scores, tile, block)
        keys = min(block * block // queries, MOST_KEYS) if queries > 1 else block
        for dim in dims.n[-1:]:
            tile[scores.axes[dim]] = even(scores.extents[dim], keys, LANES)
        head = list(tile)
        for dim in dims.n[-1:]:
            head[scores.axes[dim]] = scores.extents[dim]
        for moved in (every.tile,) if staged else (tuple(head), tuple(tile)):
            yield Tiling(tuple(tile), every.order, moved=moved, serial=True)


def _served(kernel: BoundKernel, target: Target, scores: BoundNest) -> Iterator[Tiling]:
    """Steps of a register's heads and as many keys as fill the window, then smaller ones; inside
    them a head at a time, in blocks of whole groups of query heads."""
    dims = scores.contraction
    assert dims is not None
    every, window = whole(kernel), target.dma.window_bytes or capacity(kernel, target)
    heads, tokens = heads_of(scores), tokens_of(scores)
    together = min(scores.extents[heads], SUBLANES)
    row = storage_bytes(dims.lhs_element, 2 * together * prod(scores.extents[d] for d in dims.k))
    while window >= row:
        tile = list(every.tile)
        for dim in dims.batch:
            tile[scores.axes[dim]] = 1
        for dim in dims.n[-1:]:
            most = window // row // LANES * LANES
            tile[scores.axes[dim]] = min(scores.extents[dim], max(most, 1))
        rows = _cut(scores, tile, BLOCK)
        moved = list(tile)
        moved[scores.axes[heads]] = together
        if tokens >= 0:
            axis, blocks = scores.axes[tokens], max(window // (row * rows), 1)
            moved[axis] = min(scores.extents[tokens], blocks * tile[axis])
        yield Tiling(tuple(tile), every.order, moved=tuple(moved))
        window //= 2


def _cut(scores: BoundNest, tile: list[int], most: int) -> int:
    """Cut the tokens in `tile` so that with all their query heads they are at most `most` queries,
    or one token's; how many queries those are. Plain blocks are of equal size; those of a group
    have as many tokens as the largest of its size's powers of two allows."""
    dims = scores.contraction
    assert dims is not None
    tokens = tokens_of(scores)
    group = prod(scores.extents[dim] for dim in dims.m if dim != tokens)
    if tokens < 0:
        return group
    axis, extent = scores.axes[tokens], scores.extents[tokens]
    if group == 1:
        tile[axis] = even(extent, most, LANES)
    else:
        block = 1 << max(most // group, 1).bit_length() - 1
        tile[axis] = min(extent, max(block, SUBLANES))
    return group * tile[axis]


def _apart(kernel: BoundKernel, target: Target, scores: BoundNest) -> Iterator[Tiling]:
    """Heads in steps that fill the compiler's window, then in smaller ones; of heads that are too
    long for that the queries, too."""
    dims = scores.contraction
    assert dims is not None
    every, window = whole(kernel), target.dma.window_bytes or capacity(kernel, target)
    result = kernel.tensors[scores.writes[0].tensor]
    moving = compulsory_bytes(kernel) + storage_bytes(dims.lhs_element, prod(result.shape))
    heads = max((scores.axes[d] for d in dims.batch), key=lambda a: every.tile[a], default=None)
    steps = max(1, round(moving / window)) if heads is not None else 1
    tile = list(every.tile)
    if heads is not None:
        tile[heads] = -(-every.tile[heads] // steps)
    yield Tiling(tuple(tile), every.order, apart=True)
    while heads is not None and tile[heads] > 1:
        steps *= 2
        tile[heads] = -(-every.tile[heads] // steps)
        yield Tiling(tuple(tile), every.order, apart=True)
    queries = max((scores.axes[d] for d in dims.m), key=lambda a: every.tile[a], default=None)
    while queries is not None and tile[queries] > 1:
        tile[queries] = -(-tile[queries] // 2)
        yield Tiling(tuple(tile), every.order, apart=True)
