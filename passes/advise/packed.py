"""A kernel with one of its tensors stored without the gaps between the elements that it touches."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import msgspec

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.workload import Access, Index

replace = msgspec.structs.replace


def packed(kernel: BoundKernel, tensor: int) -> BoundKernel | None:
    """The kernel with `tensor` as an array of its own: a part of a larger one no longer, and its
    innermost dimension without the elements that no loop comes to. None where that is how it is
    stored, and where it is picked by index."""
    kind = kernel.tensors[tensor]
    used = [(n, a) for n in kernel.nests for a in (*n.reads, *n.writes) if a.tensor == tensor]
    if not kind.shape or any(index.indirect for _, a in used for index in a.map):
        return None
    inner = len(kind.shape) - 1
    extent, factors = _inner([(nest, access.map[inner]) for nest, access in used], kind.shape[-1])
    if extent == kind.shape[-1] and not kind.contiguous:
        return None
    shape = (*kind.shape[:-1], extent)
    tensors = (
        *kernel.tensors[:tensor],
        replace(kind, shape=shape, contiguous=0),
        *kernel.tensors[tensor + 1 :],
    )

    def moved(access: Access) -> Access:
        if access.tensor != tensor or factors is None:
            return access
        last = Index(terms=tuple((dim, factors[dim]) for dim, _ in access.map[inner].terms))
        return Access(tensor=tensor, map=(*access.map[:inner], last))

    nests = tuple(
        replace(nest, reads=tuple(map(moved, nest.reads)), writes=tuple(map(moved, nest.writes)))
        for nest in kernel.nests
    )
    return replace(kernel, tensors=tensors, nests=nests)


def _inner(
    indices: Sequence[tuple[BoundNest, Index]], extent: int
) -> tuple[int, dict[int, int] | None]:
    """The extent of a dimension without gaps, and what each loop dim then counts there; the same
    extent and None where there are none, or where two accesses go through it in other ways."""
    ways = {(tuple((nest.extents[d], c) for d, c in index.terms), index) for nest, index in indices}
    if len(ways) != 1:
        return extent, None
    ((_, index),) = ways
    nest = indices[0][0]
    terms = sorted(index.terms, key=lambda term: abs(term[1]))
    span, step = 1, 1
    factors = {}
    for dim, factor in terms:
        if abs(factor) < span:  # windows that overlap: what is between them is all that may go
            return _divided(terms, extent)
        factors[dim] = step if factor > 0 else -step
        span += abs(factor) * (nest.extents[dim] - 1)
        step *= nest.extents[dim]
    return (step, factors) if step < extent else (extent, None)


def _divided(terms: Sequence[tuple[int, int]], extent: int) -> tuple[int, dict[int, int] | None]:
    step = gcd(*(factor for _, factor in terms))
    if step < 2:
        return extent, None
    return (extent - 1) // step + 1, {dim: factor // step for dim, factor in terms}
