"""Changes to nests that are already read: when a value turns out to be a part of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from xpu_shark.passes.bridge.buffers import Buffer
from xpu_shark.passes.bridge.indexing import Step, walk_dims
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import product
from xpu_shark.simulator.workload import Access, Nest, Tensor


def walked(nest: Nest, access: Access) -> Size:
    """Iterations of the loops that move an access."""
    return product(tuple(nest.dims[dim].extent for dim in walk_dims(access.map)))


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


def writing_too(nest: Nest, tensor: int, copy: int, step: Step = lambda position: position) -> Nest:
    """`nest` with what it writes to `tensor` written to `copy` too, `step` taken from it."""
    extra = tuple(
        Access(tensor=copy, map=step(access.map))
        for access in nest.writes
        if access.tensor == tensor
    )
    return msgspec.structs.replace(nest, writes=nest.writes + extra)
