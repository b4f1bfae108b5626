"""How much a kernel computes and must move: the counts that every time and bound rests on."""

from __future__ import annotations

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
    read, written = _touched(kernel)
    return sum(
        storage_bytes(tensor.element, elements[number])
        for elements in (read, written)
        for number, tensor in enumerate(kernel.tensors)
        if number in elements and tensor.is_global
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

    Reads that look alike are taken for the same elements, writes for different ones: a program
    reads a slice often but fills each part of its output once.
    """
    read: dict[int, dict[tuple[Access, tuple[int, ...]], int]] = {}
    written: dict[int, int] = {}
    for nest in kernel.nests:
        if not nest.points:
            continue
        for access in nest.reads:
            if access.tensor not in written:
                key = (access, nest.extents)
                count = nest.trips * elements(kernel, nest, access)
                seen = read.setdefault(access.tensor, {})
                seen[key] = max(count, seen.get(key, 0))
        for access in nest.writes:
            count = nest.trips * elements(kernel, nest, access)
            written[access.tensor] = written.get(access.tensor, 0) + count
    sums = {tensor: sum(seen.values()) for tensor, seen in read.items()}
    return _capped(kernel, sums), _capped(kernel, written)


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
