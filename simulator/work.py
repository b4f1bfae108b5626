"""How much a kernel computes and must move: the counts that every time and bound rests on."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from math import prod

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.workload import Access, Index

# A multiply-add is two operations, every other arithmetic one is one, whatever its type and
# however long it takes. Moving, converting, comparing and choosing bits is no arithmetic.
FLOPS = {"madd": 2}
NO_FLOPS = frozenset(("convert", "compare", "select", "logic", "shift", "index"))


def flops(kernel: BoundKernel) -> int:
    """Arithmetic operations, float and integer, that one launch needs: useful work, no padding."""
    return sum(
        nest.trips * nest.points * sum(work.count * _flops_of(work.kind) for work in nest.work)
        for nest in kernel.nests
    )


def compulsory_bytes(kernel: BoundKernel) -> int:
    """Bytes that one launch has to move between memory and chip, with caches of any size.

    Each element of a global tensor that is used is read once and each that is produced is
    written once. What the kernel wrote itself it need not read again.
    """
    return _bytes(kernel, resident=False)


def resident_bytes(kernel: BoundKernel) -> int:
    """Bytes of tensors in the scratchpad that one launch reads or writes there."""
    return _bytes(kernel, resident=True)


def _bytes(kernel: BoundKernel, *, resident: bool) -> int:
    read, written = _touched(kernel)
    return sum(
        storage_bytes(tensor.element, elements[number])
        for elements in (read, written)
        for number, tensor in enumerate(kernel.tensors)
        if number in elements and tensor.is_global and tensor.resident == resident
    )


def elements(kernel: BoundKernel, nest: BoundNest, access: Access) -> int:
    """Distinct elements of its tensor that `access` can touch in one pass over `nest`.

    An indirect access touches one run per point of the dims that its position varies with, the
    run being what its other indices cover.
    """
    shape = kernel.tensors[access.tensor].shape
    picked = {dim for index in access.map if index.indirect for dim, _ in index.terms}
    run = prod(
        _covered(index, size, nest.extents)
        for index, size in zip(access.map, shape, strict=True)
        if not index.indirect
    )
    return min(prod(shape), run * prod(nest.extents[dim] for dim in picked))


def _touched(kernel: BoundKernel) -> tuple[dict[int, int], dict[int, int]]:
    """Elements read before the kernel wrote them, and elements written, by tensor.

    Reads of equal parts count together, overlaps once. Writes are taken for different elements:
    a program reads a slice often but fills each part of its output once.
    """
    read: dict[int, dict[Hashable, _Reads]] = {}
    written: dict[int, int] = {}
    for nest in kernel.nests:
        if not nest.points:
            continue
        for access in nest.reads:
            if access.tensor not in written:
                shapes = tuple((index.terms, index.indirect) for index in access.map)
                parts = read.setdefault(access.tensor, {})
                key = (shapes, nest.extents)
                if key not in parts:
                    parts[key] = _Reads(kernel, nest, access)
                parts[key].add(nest, access)
        for access in nest.writes:
            count = nest.trips * elements(kernel, nest, access)
            written[access.tensor] = written.get(access.tensor, 0) + count
    sums = {tensor: sum(part.elements for part in parts.values()) for tensor, parts in read.items()}
    return _capped(kernel, sums), _capped(kernel, written)


class _Reads:
    """Reads of one tensor that differ in where they start and in how often they are repeated."""

    def __init__(self, kernel: BoundKernel, nest: BoundNest, access: Access) -> None:
        self._each = elements(kernel, nest, access)
        self._sides = _sides(kernel.tensors[access.tensor].shape, nest, access)
        self._starts: dict[tuple[int, ...], None] = {}
        self._trips = 0

    def add(self, nest: BoundNest, access: Access) -> None:
        self._starts[_start(access)] = None
        self._trips = max(self._trips, nest.trips)

    @property
    def elements(self) -> int:
        if len(self._starts) == 1 or not self._each:
            return self._trips * self._each
        if self._sides is None:
            return self._trips * self._each * len(self._starts)
        return self._trips * union(self._sides, frozenset(self._starts))


def _sides(
    shape: tuple[int, ...], nest: BoundNest, access: Access
) -> tuple[tuple[int, bool], ...] | None:
    """Sides of the box that an access covers, two a dimension as in `_start`; None if unknown."""
    if any(index.indirect for index in access.map):
        return None
    sides: list[tuple[int, bool]] = []
    for index, size in zip(access.map, shape, strict=True):
        covered = _covered(index, size, nest.extents)
        reach = 1 + sum(abs(c) * (nest.extents[dim] - 1) for dim, c in index.terms)
        sides += [(1, False), (covered, len(index.terms) < 2 or covered >= reach)]
    return tuple(sides)


def _start(access: Access) -> tuple[int, ...]:
    """Where an access starts: for each dimension the remainder and the number of its steps."""
    start: list[int] = []
    for index in access.map:
        step = abs(index.terms[0][1]) if len(index.terms) == 1 else 1
        start += [index.offset % step, index.offset // step]
    return tuple(start)


def union(sides: tuple[tuple[int, bool], ...], corners: frozenset[tuple[int, ...]]) -> int:
    """Elements in any of the boxes with these `sides` that start at `corners`.

    A side is a length and whether its positions are next to each other; those of one that has
    gaps are the same only where they start alike.
    """
    if not sides or not corners:
        return len(corners)
    (length, dense), *inner = sides
    rest = tuple(inner)
    if not dense:
        starts = {corner[0] for corner in corners}
        return sum(
            length * union(rest, frozenset(c[1:] for c in corners if c[0] == start))
            for start in starts
        )
    edges = sorted({edge for corner in corners for edge in (corner[0], corner[0] + length)})
    return sum(
        (end - edge)
        * union(rest, frozenset(c[1:] for c in corners if c[0] <= edge < c[0] + length))
        for edge, end in pairwise(edges)
    )


def _capped(kernel: BoundKernel, counts: dict[int, int]) -> dict[int, int]:
    """No more elements than the tensor has."""
    return {n: min(prod(kernel.tensors[n].shape), count) for n, count in counts.items()}


def _covered(index: Index, size: int, extents: tuple[int, ...]) -> int:
    """Distinct positions of `index` along a dimension of `size`."""
    if any(extents[dim] == 0 for dim, _ in index.terms):
        return 0
    reach = 1 + sum(abs(factor) * (extents[dim] - 1) for dim, factor in index.terms)
    return min(size, reach, prod(extents[dim] for dim, _ in index.terms))


def _flops_of(kind: str) -> int:
    return 0 if kind in NO_FLOPS else FLOPS.get(kind, 1)
