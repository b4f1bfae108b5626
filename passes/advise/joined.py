"""Several kernels as one: what they share is there once, what passes between them stays inside."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from xpu_shark.simulator.bind import Axis, BoundKernel, BoundNest, BoundTensor
from xpu_shark.simulator.workload import Access

replace = msgspec.structs.replace
Place = tuple[int, int]  # a kernel, by number, and one of its tensors or axes


def joined(
    kernels: Sequence[BoundKernel],
    same: Sequence[tuple[Place, Place]],
    inside: Collection[Place] = (),
    ties: Sequence[tuple[Place, Place]] = (),
) -> BoundKernel | None:
    """One kernel with the nests of all, in order.

    `same` are pairs of tensors that are one, an earlier kernel's first; those of them that are
    `inside` never leave the core. Axes that walk one dimension of such a tensor become one axis,
    as do those of `ties`. None where the two tensors of a pair have other shapes or types.
    """
    tensors = _tensors(kernels, same, inside)
    if tensors is None:
        return None
    numbers, kinds = tensors
    axes = _axes(kernels, same, ties)
    nests = tuple(
        _moved(nest, number, numbers, axes)
        for number, kernel in enumerate(kernels)
        for nest in kernel.nests
    )
    return replace(
        kernels[0],
        tensors=kinds,
        nests=nests,
        axes=_extents(nests),
        online=any(kernel.online for kernel in kernels),
        held=max(kernel.held for kernel in kernels),
    )


def products_first(kernel: BoundKernel) -> BoundKernel:
    """The nests of the kernel with products that need no other nest's results in front: they turn
    in the same loops then, and load what they share together."""
    made = {access.tensor for nest in kernel.nests for access in nest.writes}
    first = [
        nest
        for nest in kernel.nests
        if nest.contraction is not None and not made & {a.tensor for a in nest.reads}
    ]
    rest = [nest for nest in kernel.nests if nest not in first]
    return replace(kernel, nests=(*first, *rest))


def _tensors(
    kernels: Sequence[BoundKernel],
    same: Sequence[tuple[Place, Place]],
    inside: Collection[Place],
) -> tuple[dict[Place, int], tuple[BoundTensor, ...]] | None:
    """The number of every tensor in the whole, and the tensors."""
    first: dict[Place, Place] = {}
    for one, other in same:
        first[other] = first.get(one, one)
    numbers: dict[Place, int] = {}
    kinds: list[BoundTensor] = []
    for number, kernel in enumerate(kernels):
        for tensor, kind in enumerate(kernel.tensors):
            place = (number, tensor)
            if place not in first:
                numbers[place] = len(kinds)
                kinds.append(replace(kind, is_global=False) if place in inside else kind)
                continue
            numbers[place] = numbers[first[place]]
            known = kernels[first[place][0]].tensors[first[place][1]]
            if (known.shape, known.element) != (kind.shape, kind.element):
                return None
    return numbers, tuple(kinds)


def _axes(
    kernels: Sequence[BoundKernel],
    same: Sequence[tuple[Place, Place]],
    ties: Sequence[tuple[Place, Place]],
) -> dict[Place, int]:
    """The number of every axis in the whole, in the order in which nests walk them: tilers take
    the last one for the innermost."""
    walked = ((n, axis) for n, k in enumerate(kernels) for nest in k.nests for axis in nest.axes)
    every = list(dict.fromkeys(walked))
    members = {place: {place} for place in every}
    for one, other in (*_walked(kernels, same), *ties):
        groups = members[one], members[other]
        extents = {kernels[place[0]].axes[place[1]].extent for place in (one, other)}
        kernels_of = [{number for number, _ in group} for group in groups]
        if groups[0] is groups[1] or kernels_of[0] & kernels_of[1] or len(extents) > 1:
            continue
        groups[0].update(groups[1])
        for place in groups[1]:
            members[place] = groups[0]
    numbers: dict[int, int] = {}
    return {place: numbers.setdefault(id(members[place]), len(numbers)) for place in every}


def _walked(
    kernels: Sequence[BoundKernel], same: Sequence[tuple[Place, Place]]
) -> list[tuple[Place, Place]]:
    """Axes that walk the same dimension of a tensor that two kernels share."""
    found = []
    for one, other in same:
        for position in range(len(kernels[one[0]].tensors[one[1]].shape)):
            axes = [axis_of(kernels[number], tensor, position) for number, tensor in (one, other)]
            if axes[0] is not None and axes[1] is not None:
                found.append(((one[0], axes[0]), (other[0], axes[1])))
    return found


def axis_of(kernel: BoundKernel, tensor: int, position: int) -> int | None:
    """The axis that alone walks a dimension of a tensor in steps of one; None where none does."""
    found = set()
    for nest in kernel.nests:
        for access in (*nest.reads, *nest.writes):
            if access.tensor == tensor:
                terms = access.map[position].terms
                plain = not access.map[position].indirect and len(terms) == 1
                found.add(nest.axes[terms[0][0]] if plain and terms[0][1] == 1 else None)
    return found.pop() if len(found) == 1 else None


def _moved(
    nest: BoundNest, kernel: int, numbers: dict[Place, int], axes: dict[Place, int]
) -> BoundNest:
    """The nest in the whole, without the tiles that it had alone."""

    def renamed(accesses: tuple[Access, ...]) -> tuple[Access, ...]:
        return tuple(replace(each, tensor=numbers[kernel, each.tensor]) for each in accesses)

    return replace(
        nest,
        axes=tuple(axes[kernel, axis] for axis in nest.axes),
        reads=renamed(nest.reads),
        writes=renamed(nest.writes),
        tiles=(),
        config="",
        pinned=False,
    )


def _extents(nests: Sequence[BoundNest]) -> tuple[Axis, ...]:
    """An axis is parallel where no nest reduces over it."""
    found: dict[int, Axis] = {}
    for nest in nests:
        for axis, extent, free in zip(nest.axes, nest.extents, nest.parallel, strict=True):
            found[axis] = Axis(extent, free and (axis not in found or found[axis].parallel))
    return tuple(found[axis] for axis in sorted(found))
