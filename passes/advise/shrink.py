"""A kernel with another extent of one axis: what one device or one step does of it."""

from __future__ import annotations

import msgspec

from xpu_shark.passes.advise.rules.unfuse import halved
from xpu_shark.simulator.bind import Axis, BoundKernel, BoundNest
from xpu_shark.simulator.workload import Access

replace = msgspec.structs.replace


def outermost_axis(kernel: BoundKernel, tensor: int) -> int | None:
    """The axis that walks the first dimension of a tensor, None where more than one thing does."""
    found = {
        _axis(nest, access, 0)
        for nest in kernel.nests
        for access in (*nest.reads, *nest.writes)
        if access.tensor == tensor
    }
    return found.pop() if len(found) == 1 else None


def _axis(nest: BoundNest, access: Access, position: int) -> int | None:
    if position >= len(access.map):
        return None
    index = access.map[position]
    plain = not index.indirect and not index.offset and len(index.terms) == 1
    return nest.axes[index.terms[0][0]] if plain and index.terms[0][1] == 1 else None


def shrunk(kernel: BoundKernel, axis: int, parts: int) -> BoundKernel:
    """The largest of so many parts of `axis`."""
    return resized(kernel, axis, -(-kernel.axes[axis].extent // parts))


def resized(kernel: BoundKernel, axis: int, new: int) -> BoundKernel:
    """The kernel with `axis` of extent `new`, in its loops and in the tensors that it walks."""
    old = kernel.axes[axis].extent
    nests = tuple(_resized_nest(nest, axis, old, new) for nest in kernel.nests)
    axes = tuple(
        Axis(new, each.parallel) if number == axis else each
        for number, each in enumerate(kernel.axes)
    )
    shapes = {number: list(tensor.shape) for number, tensor in enumerate(kernel.tensors)}
    for nest in kernel.nests:
        for access in (*nest.reads, *nest.writes):
            for position in range(len(access.map)):
                if _axis(nest, access, position) == axis:
                    shapes[access.tensor][position] = new
    tensors = tuple(
        replace(tensor, shape=tuple(shapes[number])) for number, tensor in enumerate(kernel.tensors)
    )
    return replace(kernel, nests=nests, axes=axes, tensors=tensors)


def _resized_nest(nest: BoundNest, axis: int, old: int, new: int) -> BoundNest:
    if axis not in nest.axes or not old:
        return nest
    extents = tuple(
        new if each == axis else extent
        for each, extent in zip(nest.axes, nest.extents, strict=True)
    )
    points = -(-nest.points * new // old)
    return replace(nest, extents=extents, points=points, tiles=(), pinned=False)


def accumulated(
    kernel: BoundKernel, axis: int, parts: int
) -> tuple[BoundKernel, BoundKernel, BoundKernel | None] | None:
    """A product whose reduction `axis` comes in parts: the first of them, every later one, which
    adds to what is there, and the nests behind the product; None where the kernel is no product
    of its first nest."""
    nest = kernel.nests[0]
    if nest.contraction is None or kernel.online or any(axis in n.axes for n in kernel.nests[1:]):
        return None
    first, rest = (kernel, None) if len(kernel.nests) == 1 else halved(kernel, 1)
    part = shrunk(first, sorted({*nest.axes}).index(axis) if rest else axis, parts)
    nest = part.nests[0]
    reads = (*nest.reads, nest.writes[0])
    return part, replace(part, nests=(replace(nest, reads=reads),)), rest
