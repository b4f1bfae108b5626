"""Element-wise work done where its result is loaded, in the nests that read it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from xpu_shark.passes.advise.split_axis import in_shape, refined
from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.workload import Access, Index

replace = msgspec.structs.replace


def on_the_fly(
    producer: BoundKernel, reader: BoundKernel, results: Sequence[int]
) -> BoundKernel | None:
    """`reader` with the work of `producer`, one element-wise nest, in its own nests ahead of
    theirs; its tensors `results` are what the producer makes, maybe in another shape. A matrix
    unit's operands are worked on once an element, whatever types the unit takes. None where a
    result is picked by index, or where the producer does not walk it in order."""
    kernel: BoundKernel | None = reader
    made = producer.nests[0].writes[0].tensor
    for result in results:
        pair = None if kernel is None else same_shape(producer, made, kernel, result)
        kernel = None if pair is None else _inside(*pair, result)
    return kernel


def same_shape(
    producer: BoundKernel, made: int, reader: BoundKernel, read: int
) -> tuple[BoundKernel, BoundKernel] | None:
    """Both kernels with the tensor that passes from one to the other in one shape: weights in
    groups that share a scale are a matrix for the product. None where the shapes do not nest."""
    shapes = producer.tensors[made].shape, reader.tensors[read].shape
    if shapes[0] == shapes[1]:
        return producer, reader
    factors = refined(*shapes)
    if factors is None:
        return None
    one, other = in_shape(producer, made, factors), in_shape(reader, read, factors)
    return None if one is None or other is None else (one, other)


def _straight(dims: int) -> tuple[Index, ...]:
    return tuple(Index(terms=((dim, 1),)) for dim in range(dims))


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
