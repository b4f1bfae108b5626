"""A kernel that makes several results in one launch."""

from __future__ import annotations

from math import prod

import msgspec

from xpu_shark.simulator.bind import Axis, BoundKernel, BoundNest
from xpu_shark.simulator.workload import Access, Contraction, Index


def batched(kernel: BoundKernel, times: int) -> BoundKernel:
    """`times` results by one more parallel axis, the outermost.

    Each tensor gets it as its first dimension, but for the larger operand of a product, which
    all results share: that is the weights, or the cache that all tokens of a step look at.
    """
    shared = {tensor for nest in kernel.nests for tensor in _shared(kernel, nest)}
    tensors = tuple(
        tensor
        if number in shared
        else msgspec.structs.replace(tensor, shape=(times, *tensor.shape))
        for number, tensor in enumerate(kernel.tensors)
    )
    nests = tuple(_more(nest, times, len(kernel.axes), shared) for nest in kernel.nests)
    axes = (*kernel.axes, Axis(times, True))
    return msgspec.structs.replace(kernel, tensors=tensors, nests=nests, axes=axes)


def _shared(kernel: BoundKernel, nest: BoundNest) -> tuple[int, ...]:
    if nest.contraction is None:
        return ()
    sides = (nest.reads[nest.contraction.lhs].tensor, nest.reads[nest.contraction.rhs].tensor)
    larger = max(sides, key=lambda tensor: (prod(kernel.tensors[tensor].shape), tensor))
    return (larger,) if kernel.tensors[larger].is_global else ()


def _more(nest: BoundNest, times: int, axis: int, shared: set[int]) -> BoundNest:
    """The nest inside a loop over results, which becomes loop dim 0."""

    def moved(access: Access) -> Access:
        map = tuple(
            msgspec.structs.replace(index, terms=tuple((dim + 1, c) for dim, c in index.terms))
            for index in access.map
        )
        first = () if access.tensor in shared else (Index(terms=((0, 1),)),)
        return Access(tensor=access.tensor, map=(*first, *map))

    work = tuple(item.inside(1) for item in nest.work)
    return msgspec.structs.replace(
        nest,
        extents=(times, *nest.extents),
        parallel=(True, *nest.parallel),
        axes=(axis, *nest.axes),
        reads=tuple(map(moved, nest.reads)),
        writes=tuple(map(moved, nest.writes)),
        work=work,
        contraction=_wider(nest, shared),
        points=times * nest.points,
        tiles=(),
        pinned=False,
    )


def _wider(nest: BoundNest, shared: set[int]) -> Contraction | None:
    """Results are further rows of the side that is not shared, or a batch where neither is."""
    dims = nest.contraction
    if dims is None:
        return None
    roles = {
        role: tuple(dim + 1 for dim in getattr(dims, role)) for role in ("batch", "m", "n", "k")
    }
    sides = {"n": nest.reads[dims.lhs].tensor, "m": nest.reads[dims.rhs].tensor}
    role = next((role for role, tensor in sides.items() if tensor in shared), "batch")
    roles[role] = (0, *roles[role])
    return msgspec.structs.replace(dims, **roles)
