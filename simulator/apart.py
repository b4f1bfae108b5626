"""Products and reductions of one kernel as a compiler runs them that has no fused kernel for it.

Each goes over all of its data before the next one starts. What passes between them is an array:
in the scratchpad while little of that is taken, else in main memory, a product's result then in
the type of its operands. What is computed from such an array point by point is not stored: whoever
needs it reads the array and computes it again.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.footprint import REMEMBERED
from xpu_shark.simulator.head_layout import LANES
from xpu_shark.simulator.workload import Access, Index


@lru_cache(maxsize=REMEMBERED)
def recomputing(kernel: BoundKernel) -> BoundKernel:
    """`kernel` with what a nest computes point by point moved into the product that reads it."""
    nests = list(kernel.nests)
    for number, nest in enumerate(nests):
        for write in nest.writes:
            reader = _only_product(nests, write.tensor)
            if reader is not None and _is_pointwise(kernel, nest, write):
                kept = tuple(other for other in nest.writes if other is not write)
                nests[number] = msgspec.structs.replace(nest, writes=kept)
                nests[reader] = _recomputing(nests[reader], nest, write)
    return msgspec.structs.replace(kernel, nests=tuple(nests))


@lru_cache(maxsize=REMEMBERED)
def narrowed(kernel: BoundKernel, spilled: frozenset[int]) -> BoundKernel:
    """`kernel` with what went out to memory as it lies there: rows padded to whole registers, a
    product's result in the type of its operands."""
    tensors = list(kernel.tensors)
    for nest in kernel.nests:
        for write in nest.writes:
            if nest.contraction is not None and write.tensor in spilled:
                element = nest.contraction.lhs_element
                tensor = tensors[write.tensor]
                tensors[write.tensor] = msgspec.structs.replace(
                    tensor, element=element, row_granule=LANES
                )
    return msgspec.structs.replace(kernel, tensors=tuple(tensors))


def _only_product(nests: list[BoundNest], tensor: int) -> int | None:
    """The product that alone reads `tensor`, as its left operand."""
    readers = [n for n, nest in enumerate(nests) if any(r.tensor == tensor for r in nest.reads)]
    if len(readers) != 1:
        return None
    dims = nests[readers[0]].contraction
    if dims is None or nests[readers[0]].reads[dims.lhs].tensor != tensor:
        return None
    return readers[0]


def _is_pointwise(kernel: BoundKernel, nest: BoundNest, write: Access) -> bool:
    """Whether a nest that also reduces writes each point of `write` from what it reads there."""
    if nest.contraction is not None or all(nest.parallel) or kernel.tensors[write.tensor].is_global:
        return False
    dims = {dim for index in write.map for dim, _ in index.terms}
    return dims == set(range(len(nest.extents)))


def _recomputing(product: BoundNest, nest: BoundNest, write: Access) -> BoundNest:
    """`product` with what `nest` reads in place of what it wrote, and with its work."""
    dims = product.contraction
    assert dims is not None
    place = {axis: dim for dim, axis in enumerate(product.axes)}
    if not all(axis in place for axis in nest.axes):
        return product
    first, *others = (_moved(access, nest, place) for access in nest.reads)
    reads = list(product.reads)
    reads[dims.lhs] = first
    return msgspec.structs.replace(
        product, reads=(*reads, *others), work=(*product.work, *nest.work)
    )


def _moved(access: Access, nest: BoundNest, place: dict[int, int]) -> Access:
    """`access` of `nest` in the loop dims of another nest on the same axes."""
    return Access(
        tensor=access.tensor,
        map=tuple(
            Index(
                terms=tuple((place[nest.axes[dim]], by) for dim, by in index.terms),
                indirect=index.indirect,
                offset=index.offset,
            )
            for index in access.map
        ),
    )
