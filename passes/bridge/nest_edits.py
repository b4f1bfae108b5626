"""Changes to nests that are already read: when a value turns out to be a part of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from xpu_shark.passes.bridge.buffers import Buffer
from xpu_shark.passes.bridge.indexing import Step, walk_dims
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import product
from xpu_shark.simulator.workload import (
    Access,
    Contraction,
    Dim,
    Index,
    Nest,
    Tensor,
    TileLevel,
)


def walked(nest: Nest, access: Access) -> Size:
    """Iterations of the nest's own loops that move an access."""
    moving = (dim for dim in walk_dims(access.map) if dim >= 0)
    return product(tuple(nest.dims[dim].extent for dim in moving))


def in_memory(tensor: Tensor, target: Buffer) -> Tensor:
    """`tensor` where `target` is: in device memory, or in scratch memory."""
    changes: dict[str, Any] = {
        "storage": "local" if target.local else "global",
        "contiguous": target.contiguous(),
        "place": target.place(),
    }
    return msgspec.structs.replace(tensor, **changes)


def renamed(nest: Nest, old: int, new: int) -> Nest:
    """`nest` with tensor `new` in place of `old`."""
    return _changed(nest, old, lambda access: Access(tensor=new, map=access.map))


def moved(nest: Nest, tensor: int, step: Step) -> Nest:
    """`nest` with `step` taken from every position in `tensor`."""
    return _changed(nest, tensor, lambda access: Access(tensor=tensor, map=step(access.map)))


def _changed(nest: Nest, tensor: int, change: Callable[[Access], Access]) -> Nest:
    reads, writes = (
        tuple(change(access) if access.tensor == tensor else access for access in accesses)
        for accesses in (nest.reads, nest.writes)
    )
    return msgspec.structs.replace(nest, reads=reads, writes=writes)


def beside(nest: Nest, loops: Sequence[int], extents: Sequence[Size], own: set[int]) -> Nest:
    """`nest` inside parallel loops of `extents`, which positions in it name by the numbers in
    `loops`. Tensors of `own` have a place for each of their turns, in front."""
    count = len(loops)
    number = {loop: place for place, loop in enumerate(loops)}
    front = tuple(Index(terms=((place, 1),)) for place in range(count))

    def dim(old: int) -> int:
        return number.get(old, old) if old < 0 else old + count

    def spread(access: Access) -> Access:
        terms = (tuple((dim(d), factor) for d, factor in index.terms) for index in access.map)
        indices = zip(access.map, terms, strict=True)
        here = (msgspec.structs.replace(index, terms=new) for index, new in indices)
        return Access(tensor=access.tensor, map=(*(front if access.tensor in own else ()), *here))

    return msgspec.structs.replace(
        nest,
        dims=(*(Dim(extent=extent, kind="parallel") for extent in extents), *nest.dims),
        reads=tuple(map(spread, nest.reads)),
        writes=tuple(map(spread, nest.writes)),
        work=tuple(item.inside(count) for item in nest.work),
        contraction=_batched(nest.contraction, count),
        points=None if nest.points is None else product((*extents, nest.points)),
        tiles=tuple(_apart(level, count) for level in nest.tiles),
        loops=_numbered(nest, count),
    )


def _batched(contraction: Contraction | None, count: int) -> Contraction | None:
    if contraction is None:
        return None
    moved = {
        role: tuple(dim + count for dim in getattr(contraction, role))
        for role in ("batch", "m", "n", "k")
    }
    return msgspec.structs.replace(
        contraction, **moved | {"batch": (*range(count), *moved["batch"])}
    )


def _apart(level: TileLevel, count: int) -> TileLevel:
    """The level's sizes where every turn of the loops around is a tile of its own."""
    each = 0 if "reduction" in level.name else 1
    return TileLevel(name=level.name, sizes=(*(each for _ in range(count)), *level.sizes))


def _numbered(nest: Nest, count: int) -> tuple[int, ...]:
    """Which loop of the op each dim is; -1 for those that are around it."""
    own = nest.loops or tuple(range(len(nest.dims)))
    return (*(-1 for _ in range(count)), *own) if nest.tiles else ()


def writing_too(nest: Nest, tensor: int, copy: int, step: Step = lambda position: position) -> Nest:
    """`nest` with what it writes to `tensor` written to `copy` too, `step` taken from it."""
    extra = tuple(
        Access(tensor=copy, map=step(access.map))
        for access in nest.writes
        if access.tensor == tensor
    )
    return msgspec.structs.replace(nest, writes=nest.writes + extra)
