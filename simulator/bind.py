"""Gives a kernel's symbolic sizes their values, and finds the axes that its nests share.

Two loop dims of different nests are one *axis* where they index the same dimension of a tensor
that passes between the nests (or that both read): the row of a matmul and the row of the bias
add behind it; or where the nests are results of one op. An axis is a reduction axis if any nest
reduces over it. Tiling works on axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import msgspec

from xpu_shark.simulator.symbolic import UnboundError, Value, evaluate, symbols
from xpu_shark.simulator.workload import Access, Contraction, Kernel, Nest, TileLevel, Work

Loop = tuple[int, int]  # nest, loop dim


class Struct(msgspec.Struct, frozen=True, cache_hash=True):
    """Base of all bound data: like the workload's, with every size an integer. Hashes are kept:
    what a tile moves and costs is remembered by the operand and the tile."""


class Context(Struct, frozen=True, cache_hash=True):
    """Where a launch stands in a program of several: which of its tensors are in the scratchpad
    before or after it, the bytes that are held there during it, these tensors among them, whether
    the program is running already, and what share a CPU's last cache has of which tensors (None:
    unknown)."""

    resident: tuple[int, ...] = ()
    held: int = 0
    running: bool = False
    cached: tuple[tuple[int, float], ...] | None = None


ALONE = Context()


class BoundTensor(Struct, frozen=True, cache_hash=True):
    """A `resident` tensor is in the scratchpad, and never moves; the share `cached` of one is in a
    CPU's last cache, where that is known. Rows of the last dimension are stored in whole
    `row_granule` elements."""

    shape: tuple[int, ...]
    element: str
    is_global: bool
    contiguous: int
    resident: bool = False
    cached: float | None = None
    row_granule: int = 1


class BoundNest(Struct, frozen=True, cache_hash=True):
    """`axes[d]` is the kernel axis of loop dim d; `extents[d]` its trip count."""

    name: str
    extents: tuple[int, ...]
    parallel: tuple[bool, ...]
    axes: tuple[int, ...]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    work: tuple[Work, ...]
    contraction: Contraction | None
    points: int
    trips: int
    tiles: tuple[TileLevel, ...]
    config: str
    pinned: bool
    whole: bool
    location: str
    loops: tuple[int, ...] = ()

    @property
    def box(self) -> int:
        """Product of the extents: `points`, but for triangular bounds and repeated bodies."""
        return prod(self.extents)


class Axis(Struct, frozen=True):
    extent: int
    parallel: bool


class BoundKernel(Struct, frozen=True, cache_hash=True):
    name: str
    tensors: tuple[BoundTensor, ...]
    nests: tuple[BoundNest, ...]
    axes: tuple[Axis, ...]
    online: bool
    backend: str
    held: int = 0
    running: bool = False

    @property
    def empty(self) -> bool:
        """No nest executes any point: there is no work."""
        return all(nest.points * nest.trips == 0 for nest in self.nests)


def kernel_symbols(kernel: Kernel) -> tuple[str, ...]:
    """Names that the kernel's sizes depend on."""
    sizes = [size for tensor in kernel.tensors for size in (*tensor.shape, tensor.contiguous)]
    for nest in kernel.nests:
        sizes += [dim.extent for dim in nest.dims]
        sizes += [nest.trips, 1 if nest.points is None else nest.points]
    return symbols(*sizes)


def missing(kernel: Kernel, env: Mapping[str, Value]) -> tuple[str, ...]:
    """Symbols of the kernel that `env` has no value for."""
    return tuple(name for name in kernel_symbols(kernel) if name not in env)


def bind(kernel: Kernel, env: Mapping[str, Value], context: Context = ALONE) -> BoundKernel:
    """Raises `UnboundError` with every missing name."""
    if names := missing(kernel, env):
        raise UnboundError(names)
    tensors = tuple(
        BoundTensor(
            tuple(evaluate(size, env) for size in tensor.shape),
            tensor.element,
            tensor.storage == "global",
            evaluate(tensor.contiguous, env),
            number in context.resident,
            None if context.cached is None else dict(context.cached).get(number, 0.0),
        )
        for number, tensor in enumerate(kernel.tensors)
    )
    extents = [[evaluate(dim.extent, env) for dim in nest.dims] for nest in kernel.nests]
    groups = _unify(kernel, extents)
    nests = tuple(
        _bind_nest(nest, env, extents[number], groups[number])
        for number, nest in enumerate(kernel.nests)
    )
    return BoundKernel(
        kernel.name,
        tensors,
        nests,
        _axes(nests),
        kernel.online,
        kernel.backend,
        context.held,
        context.running,
    )


def _bind_nest(
    nest: Nest, env: Mapping[str, Value], extents: list[int], axes: list[int]
) -> BoundNest:
    box = prod(extents)
    points = box if nest.points is None else evaluate(nest.points, env)
    return BoundNest(
        nest.name,
        tuple(extents),
        tuple(dim.kind == "parallel" for dim in nest.dims),
        tuple(axes),
        nest.reads,
        nest.writes,
        nest.work,
        nest.contraction,
        points,
        evaluate(nest.trips, env),
        nest.tiles,
        nest.config,
        nest.pinned,
        nest.whole,
        nest.location,
        nest.loops,
    )


def _axes(nests: tuple[BoundNest, ...]) -> tuple[Axis, ...]:
    count = 1 + max((axis for nest in nests for axis in nest.axes), default=-1)
    extents, parallel = [0] * count, [True] * count
    for nest in nests:
        for axis, extent, free in zip(nest.axes, nest.extents, nest.parallel, strict=True):
            extents[axis] = extent
            parallel[axis] &= free
    return tuple(map(Axis, extents, parallel))


def _unify(kernel: Kernel, extents: list[list[int]]) -> list[list[int]]:
    """Axis numbers for every nest's dims, numbered in order of first appearance."""
    dims = [(n, d) for n, nest in enumerate(kernel.nests) for d in range(len(nest.dims))]
    members = _joint(kernel, {dim: {dim} for dim in dims})
    for local in (True, False):
        seen: dict[tuple[int, int], tuple[int, int]] = {}
        for nest_number, nest in enumerate(kernel.nests):
            for access in (*nest.reads, *nest.writes):
                if (kernel.tensors[access.tensor].storage == "local") != local:
                    continue
                for position, index in enumerate(access.map):
                    if index.indirect or len(index.terms) != 1 or index.terms[0][1] != 1:
                        continue
                    dim = (nest_number, index.terms[0][0])
                    first = seen.setdefault((access.tensor, position), dim)
                    if extents[first[0]][first[1]] == extents[dim[0]][dim[1]]:
                        _merge(members, first, dim)
    number: dict[int, int] = {}
    result: list[list[int]] = [[0] * len(nest.dims) for nest in kernel.nests]
    for nest_number, d in dims:
        group = id(members[nest_number, d])
        result[nest_number][d] = number.setdefault(group, len(number))
    return result


def _joint(kernel: Kernel, members: dict[Loop, set[Loop]]) -> dict[Loop, set[Loop]]:
    """`members` with the loops of nests that are results of one op joined."""
    for number, nest in enumerate(kernel.nests):
        for dim in range(len(nest.dims) if nest.joint else 0):
            _merge(members, (number - 1, dim), (number, dim))
    return members


def _merge(members: dict[Loop, set[Loop]], a: Loop, b: Loop) -> None:
    """Join two groups unless that would make two dims of one nest the same axis."""
    one, two = members[a], members[b]
    if one is two or {nest for nest, _ in one} & {nest for nest, _ in two}:
        return
    one |= two
    for dim in two:
        members[dim] = one
