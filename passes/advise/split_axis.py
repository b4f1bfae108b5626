"""A loop of a kernel as several, one inside the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from math import prod

import msgspec

from xpu_shark.passes.advise.joined import axis_of
from xpu_shark.simulator.bind import Axis, BoundKernel, BoundNest
from xpu_shark.simulator.workload import Access, Contraction, Index

replace = msgspec.structs.replace


def in_shape(kernel: BoundKernel, tensor: int, factors: Sequence[int]) -> BoundKernel | None:
    """The kernel with `tensor` as an array of `factors`, of which its dimensions are products, and
    the loops that walk it split alike. None where a dimension is not walked by one loop alone."""
    shape = kernel.tensors[tensor].shape
    for dim, group in reversed(list(enumerate(grouped(shape, factors)))):
        if len(group) < 2:
            continue
        axis = axis_of(kernel, tensor, dim)
        if axis is None or kernel.axes[axis].extent != shape[dim]:
            return None
        kernel = split_axis(kernel, axis, [factors[number] for number in group])
    return _squeezed(kernel, tensor)


def _squeezed(kernel: BoundKernel, tensor: int) -> BoundKernel:
    """The kernel with `tensor` without its dimensions of one element."""
    kind = kernel.tensors[tensor]
    kept = [dim for dim, extent in enumerate(kind.shape) if extent != 1]
    tensors = list(kernel.tensors)
    tensors[tensor] = replace(kind, shape=tuple(kind.shape[dim] for dim in kept))
    return with_accesses(
        replace(kernel, tensors=tuple(tensors)),
        lambda access: (
            Access(tensor=tensor, map=tuple(access.map[dim] for dim in kept))
            if access.tensor == tensor
            else access
        ),
    )


def with_accesses(kernel: BoundKernel, change: Callable[[Access], Access]) -> BoundKernel:
    """The kernel with every operand of every nest changed."""
    nests = tuple(
        replace(nest, reads=tuple(map(change, nest.reads)), writes=tuple(map(change, nest.writes)))
        for nest in kernel.nests
    )
    return replace(kernel, nests=nests)


def split_axis(kernel: BoundKernel, axis: int, factors: Sequence[int]) -> BoundKernel:
    """The kernel with `axis` as loops of `factors` turns, outermost first, whose product is its
    extent, and the dimensions that it alone walks from end to end split with it. The innermost
    keeps the axis's number; what the IR says about tiles is lost."""
    first = len(kernel.axes)
    numbers = (*range(first, first + len(factors) - 1), axis)
    free = kernel.axes[axis].parallel
    axes = list(kernel.axes)
    axes[axis] = Axis(factors[-1], free)
    axes += [Axis(factor, free) for factor in factors[:-1]]
    walked = {
        (number, dim)
        for number, tensor in enumerate(kernel.tensors)
        for dim, extent in enumerate(tensor.shape)
        if extent == kernel.axes[axis].extent and axis_of(kernel, number, dim) == axis
        if not _offset(kernel, number, dim)
    }
    tensors = tuple(
        replace(tensor, shape=_spread(number, tensor.shape, walked, factors))
        for number, tensor in enumerate(kernel.tensors)
    )
    nests = tuple(
        _split(nest, nest.axes.index(axis), factors, numbers, walked) if axis in nest.axes else nest
        for nest in kernel.nests
    )
    return replace(kernel, tensors=tensors, nests=nests, axes=tuple(axes))


def _offset(kernel: BoundKernel, tensor: int, dim: int) -> bool:
    """Whether some access of the tensor does not start at the dimension's first element."""
    accesses = (a for nest in kernel.nests for a in (*nest.reads, *nest.writes))
    return any(a.map[dim].offset for a in accesses if a.tensor == tensor)


def _spread(
    number: int, shape: Sequence[int], walked: set[tuple[int, int]], factors: Sequence[int]
) -> tuple[int, ...]:
    parts = ((*factors,) if (number, d) in walked else (size,) for d, size in enumerate(shape))
    return tuple(size for part in parts for size in part)


def refined(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...] | None:
    """The coarsest shape of which the dimensions of both are products of neighbours, all of them
    stored in row-major order; None where there is none."""
    marks = sorted({*accumulate(one, int.__mul__), *accumulate(other, int.__mul__), 1})
    if prod(one) != prod(other) or any(b % a for a, b in pairwise(marks)):
        return None
    return tuple(b // a for a, b in pairwise(marks))


def grouped(shape: Sequence[int], factors: Sequence[int]) -> list[tuple[int, ...]]:
    """For each dimension of `shape` which of `factors`, by number, it is the product of."""
    left = list(enumerate(factors))
    groups = []
    for extent in shape:
        group: list[int] = []
        size = 1
        while size < extent:
            number, factor = left.pop(0)
            group.append(number)
            size *= factor
        groups.append(tuple(group))
    return groups


def _split(
    nest: BoundNest,
    dim: int,
    factors: Sequence[int],
    numbers: Sequence[int],
    walked: set[tuple[int, int]],
) -> BoundNest:
    more = len(factors) - 1

    def dims(old: int) -> tuple[int, ...]:
        if old == dim:
            return tuple(range(dim, dim + more + 1))
        return (old + more,) if old > dim else (old,)

    def index(old: Index) -> Index:
        terms = []
        for d, factor in old.terms:
            inner = [prod(factors[n + 1 :]) for n in range(more + 1)] if d == dim else [1]
            terms += [(new, factor * step) for new, step in zip(dims(d), inner, strict=True)]
        return replace(old, terms=tuple(terms))

    def access(old: Access) -> Access:
        parts = (
            tuple(Index(terms=((new, 1),)) for new in dims(dim))
            if (old.tensor, place) in walked
            else (index(each),)
            for place, each in enumerate(old.map)
        )
        return Access(tensor=old.tensor, map=tuple(each for part in parts for each in part))

    def leading(loops: int | None) -> int | None:
        return loops + more if loops is not None and loops > dim else loops

    def roles(old: Contraction) -> Contraction:
        kept = {
            role: tuple(new for d in getattr(old, role) for new in dims(d))
            for role in ("batch", "m", "n", "k")
        }
        return replace(old, **kept)

    def spread(values: tuple[int, ...], instead: Sequence[int]) -> tuple[int, ...]:
        return (*values[:dim], *instead, *values[dim + 1 :])

    return replace(
        nest,
        extents=spread(nest.extents, factors),
        parallel=(
            *nest.parallel[:dim],
            *(nest.parallel[dim : dim + 1] * (more + 1)),
            *nest.parallel[dim + 1 :],
        ),
        axes=spread(nest.axes, numbers),
        reads=tuple(map(access, nest.reads)),
        writes=tuple(map(access, nest.writes)),
        work=tuple(
            replace(work, loops=leading(work.loops), by_loops=leading(work.by_loops))
            for work in nest.work
        ),
        contraction=None if nest.contraction is None else roles(nest.contraction),
        tiles=(),
        config="",
        pinned=False,
        loops=(),
    )
