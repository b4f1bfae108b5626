"""Which cache serves an operand of a loop nest: reuse distances, in cache lines.

A cache keeps what one turn of a loop touches if those lines fit (in all its sets, or in the few
that a stride leaves): the next turn finds them. Of more lines it keeps the share that fits, which
is what the best replacement keeps of a walk that is repeated (Belady, 1966); least recently used,
it would keep none, and real caches lie between.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import gcd, prod

import msgspec

from xpu_shark.simulator.bind import BoundKernel, BoundNest, BoundTensor
from xpu_shark.simulator.element_type import storage_bits
from xpu_shark.simulator.footprint import REMEMBERED, region
from xpu_shark.simulator.workload import Access


class Loop(msgspec.Struct, frozen=True):
    """`trips` iterations along loop dim `dim`, each of `step` of its points."""

    dim: int
    step: int
    trips: int


class Cache(msgspec.Struct, frozen=True):
    """`sets` of `ways` lines of `line_bytes`."""

    line_bytes: int
    sets: int
    ways: int

    @property
    def lines(self) -> int:
        return self.sets * self.ways


class Lines(msgspec.Struct, frozen=True):
    """What an operand touches: distinct `lines`, in a number of `sets` of the cache at hand."""

    lines: int
    sets: int


def misses(
    kernel: BoundKernel, nest: BoundNest, access: Access, loops: Sequence[Loop], cache: Cache
) -> int:
    """Lines that `access` fetches into an empty `cache` while `loops` (outermost first) run."""
    return _misses(kernel, nest, access, tuple(loops), cache)


def touches(
    kernel: BoundKernel, nest: BoundNest, access: Access, loops: Sequence[Loop], cache: Cache
) -> int:
    """Lines that `access` takes while `loops` run, those that are found again among them."""
    inside = touched(kernel, nest, access, loops, len(loops), cache).lines
    return inside * prod(loop.trips for loop in loops)


@lru_cache(maxsize=REMEMBERED)
def _misses(
    kernel: BoundKernel, nest: BoundNest, access: Access, loops: tuple[Loop, ...], cache: Cache
) -> int:
    turns = [
        touched(kernel, nest, access, loops, depth, cache).lines
        * prod(loop.trips for loop in loops[:depth])
        for depth in range(len(loops) + 1)
    ]
    missed = float(turns[0])
    for depth in range(1, len(turns)):  # what one turn of the loop outside finds of the last one
        full = max(1.0, pressure(kernel, nest, access, loops, depth, cache))
        missed += (turns[depth] - turns[depth - 1]) * (1 - 1 / full)
    return int(missed)


def pressure(
    kernel: BoundKernel,
    nest: BoundNest,
    access: Access,
    loops: Sequence[Loop],
    depth: int,
    cache: Cache,
) -> float:
    """How full the sets of `access` are of what one run from loop `depth` inwards touches: its own
    lines, and those that other operands bring there. More than 1 does not fit. Sums of a product
    are in registers while only loops over its reduction turn."""
    own = touched(kernel, nest, access, loops, depth, cache)
    full = own.lines / (own.sets * cache.ways)
    summed = nest.contraction is not None and not any(nest.parallel[x.dim] for x in loops[depth:])
    others = {(a.tensor, a.map): a for a in (*nest.reads, *(() if summed else nest.writes))}
    others.pop((access.tensor, access.map), None)
    for other in others.values():
        part = touched(kernel, nest, other, loops, depth, cache)
        share = min(1.0, part.lines / (part.sets * cache.ways))
        full += share * min(1.0, part.sets / own.sets)
    return full


def touched(
    kernel: BoundKernel,
    nest: BoundNest,
    access: Access,
    loops: Sequence[Loop],
    depth: int,
    cache: Cache,
) -> Lines:
    """Lines of one run through the loops from number `depth` inwards."""
    return _touched(kernel.tensors[access.tensor], access, spans(nest, loops, depth), cache)


def spans(nest: BoundNest, loops: Sequence[Loop], depth: int) -> tuple[int, ...]:
    """Points along each loop dim of the nest that one run from loop `depth` inwards covers: a step
    of the innermost loop over the dim, times the trips."""
    covered = [1] * len(nest.extents)
    for loop in loops:
        covered[loop.dim] = loop.step
    for loop in loops[depth:]:
        covered[loop.dim] *= loop.trips
    return tuple(min(c, e) for c, e in zip(covered, nest.extents, strict=True))


@lru_cache(maxsize=REMEMBERED)
def _touched(tensor: BoundTensor, access: Access, tile: tuple[int, ...], cache: Cache) -> Lines:
    part = region(tensor, access, tile)
    if not part.runs:
        return Lines(0, cache.sets)
    each = -(-part.run_bytes // cache.line_bytes)
    stride = row_distance(tensor, access, tile)
    if stride < cache.line_bytes:  # runs share lines
        lines = max(1, -(-part.runs * max(stride, part.run_bytes) // cache.line_bytes))
        return Lines(lines, cache.sets)
    starts = cache.sets // gcd(stride // cache.line_bytes, cache.sets)
    if stride % cache.line_bytes:
        starts = cache.sets
    lines = min(part.runs * each, _boxed(tensor, access, tile, part.elements, cache))
    return Lines(lines, min(cache.sets, starts * each))


def _boxed(
    tensor: BoundTensor, access: Access, tile: tuple[int, ...], elements: int, cache: Cache
) -> int:
    """Lines of whole rows, gaps between elements of a row included."""
    index = access.map[-1]
    if index.indirect or not index.terms:
        return elements
    along = prod(tile[dim] for dim, _ in index.terms)
    span = 1 + sum(abs(c) * (tile[dim] - 1) for dim, c in index.terms)
    row = -(-min(span, tensor.shape[-1]) * storage_bits(tensor.element) // (8 * cache.line_bytes))
    return -(-elements // min(along, span)) * row


def row_distance(tensor: BoundTensor, access: Access, tile: tuple[int, ...]) -> int:
    """Bytes from one contiguous run to the next: a row of the innermost dims up to one that the
    tile does not take whole."""
    inner = storage_bits(tensor.element)
    for extent, index in zip(reversed(tensor.shape), reversed(access.map), strict=True):
        span = 1 if index.indirect else 1 + sum(abs(c) * (tile[d] - 1) for d, c in index.terms)
        inner *= extent
        if span < extent:
            break
    return max(1, inner // 8)
