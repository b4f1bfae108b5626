"""Element-wise work done where its result is loaded, in the nests that read it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from xpu_shark.simulator.bind import Axis, BoundKernel, BoundNest, BoundTensor
from xpu_shark.simulator.workload import Access, Index

replace = msgspec.structs.replace


def on_the_fly(
    producer: BoundKernel, reader: BoundKernel, results: Sequence[int]
) -> BoundKernel | None:
    """`reader` with the work of `producer`, one element-wise nest, in its own nests ahead of
    theirs; its tensors `results` are what the producer makes. A matrix unit's operands are worked
    on once an element, whatever types the unit takes. None where a result is picked by index, or
    where the producer walks nothing in order."""
    kernel: BoundKernel | None = reader
    for result in results:
        shape = reader.tensors[result].shape
        same = producer if _result(producer).shape == shape else shaped(producer, shape)
        kernel = None if same is None or kernel is None else _inside(same, kernel, result)
    return kernel


def shaped(kernel: BoundKernel, shape: tuple[int, ...]) -> BoundKernel | None:
    """An element-wise kernel over arrays of another shape, of as many elements; None where some of
    its tensors are not walked in the order in which they lie."""
    (nest,) = kernel.nests
    straight = _straight(len(nest.extents))
    for each in (*nest.reads, *nest.writes):
        tensor = kernel.tensors[each.tensor]
        if (each.map, tensor.shape, tensor.contiguous) != (straight, nest.extents, 0):
            return None
    here = _straight(len(shape))
    moved = replace(
        nest,
        extents=shape,
        parallel=(True,) * len(shape),
        axes=tuple(range(len(shape))),
        reads=tuple(Access(tensor=each.tensor, map=here) for each in nest.reads),
        writes=tuple(Access(tensor=each.tensor, map=here) for each in nest.writes),
    )
    tensors = tuple(replace(tensor, shape=shape) for tensor in kernel.tensors)
    axes = tuple(Axis(extent, True) for extent in shape)
    return replace(kernel, tensors=tensors, nests=(moved,), axes=axes)


def _straight(dims: int) -> tuple[Index, ...]:
    return tuple(Index(terms=((dim, 1),)) for dim in range(dims))


def _result(kernel: BoundKernel) -> BoundTensor:
    return kernel.tensors[kernel.nests[0].writes[0].tensor]


def _inside(producer: BoundKernel, reader: BoundKernel, result: int) -> BoundKernel | None:
    (nest,) = producer.nests
    if nest.writes[0].map != _straight(len(nest.extents)):
        return None
    main, *others = sorted(
        nest.reads, key=lambda each: -len({dim for index in each.map for dim, _ in index.terms})
    )
    first = len(reader.tensors)
    tensors = [*reader.tensors, *(producer.tensors[each.tensor] for each in others)]
    tensors[result] = producer.tensors[main.tensor]

    def composed(access: Access, place: Access, tensor: int) -> Access:
        """Where `access` of the producer is for the point of `place`."""
        indices = []
        for index in access.map:
            parts = [(place.map[dim], factor) for dim, factor in index.terms]
            terms = tuple((d, c * factor) for part, factor in parts for d, c in part.terms)
            offset = index.offset + sum(part.offset * factor for part, factor in parts)
            indices.append(Index(terms=terms, offset=offset))
        return Access(tensor=tensor, map=tuple(indices))

    def worked(old: BoundNest) -> BoundNest:
        reads, more = list(old.reads), []
        for number, place in enumerate(old.reads):
            if place.tensor == result:
                reads[number] = composed(main, place, result)
                more += [composed(other, place, first + n) for n, other in enumerate(others)]
        if all(place.tensor != result for place in old.reads):
            return old
        ahead = nest.work
        if old.contraction is not None:  # its own conversions are those that the unit may do
            ahead = tuple(
                replace(work, kind="quantise") if work.kind == "convert" else work for work in ahead
            )
        return replace(
            old,
            reads=(*reads, *more),
            work=(*ahead, *old.work),
            tiles=(),
            config="",
            pinned=False,
        )

    used = [a for n in reader.nests for a in (*n.reads, *n.writes) if a.tensor == result]
    if any(index.indirect for access in used for index in access.map):
        return None
    return replace(reader, tensors=tuple(tensors), nests=tuple(map(worked, reader.nests)))
