"""What a tiling brings from main memory more than once: operands, and tensors that spill."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod

from xpu_shark.simulator import gang
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.estimate import Operand, operands
from xpu_shark.simulator.footprint import region
from xpu_shark.simulator.plan import Tiling, phases
from xpu_shark.simulator.residency import Residency
from xpu_shark.simulator.target import Target


def passes(kernel: BoundKernel, tiling: Tiling, target: Target) -> dict[int, float]:
    """How often each tensor that is read comes from main memory in one launch, by its bytes."""
    loads = _loads(kernel, tiling, target)
    return {tensor: own / max(_bytes(kernel, tensor), 1) for tensor, (own, _) in loads.items()}


def bursts(kernel: BoundKernel, tiling: Tiling, target: Target) -> dict[int, float]:
    """Bytes that come from main memory with each byte of a tensor that a tile asks for: 1 where
    they fill whole bursts."""
    loads = _loads(kernel, tiling, target)
    return {tensor: wired / max(own, 1) for tensor, (own, wired) in loads.items()}


def _loads(kernel: BoundKernel, tiling: Tiling, target: Target) -> dict[int, tuple[float, float]]:
    """Bytes of each tensor that all loads of one launch ask for, and that they move for it."""
    parts = phases(kernel, tiling, distributed=target.execution == "waves")
    found: dict[int, tuple[float, float]] = {}
    for use in operands(kernel, tiling, target, parts, Residency(kernel, tiling, target, parts)):
        direct = not any(index.indirect for index in use.access.map)
        tensor = use.access.tensor
        if direct and not use.written and kernel.tensors[tensor].is_global:
            own, wired = found.get(tensor, (0, 0))
            there = _there(kernel, tiling, target, use) * use.times
            found[tensor] = own + use.own * there, wired + use.bytes * there
    return found


def _there(kernel: BoundKernel, tiling: Tiling, target: Target, use: Operand) -> float:
    """Share of an operand's tiles that lies within its tensor: those at an edge are smaller."""
    nest, tensor = kernel.nests[use.nest], kernel.tensors[use.access.tensor]
    looped = {*use.loops, *(tiling.order if target.execution == "waves" else ())}
    pieces = [
        gang.pieces(extent, tiling.transfer[axis]) if axis in looped else [(extent, 1)]
        for axis, extent in zip(nest.axes, nest.extents, strict=True)
    ]
    asked, whole = 0, 0
    for choice in product(*pieces):
        sizes, counts = zip(*choice, strict=True) if choice else ((), ())
        asked += region(tensor, use.access, sizes).bytes * prod(counts)
        whole += use.own * prod(counts)
    return asked / max(whole, 1)


def worst_first(kernel: BoundKernel, times: Mapping[int, float]) -> list[int]:
    """Tensors in the order of the bytes that all loads but the first one move."""
    again = {tensor: (count - 1) * _bytes(kernel, tensor) for tensor, count in times.items()}
    return sorted(again, key=lambda tensor: (-again[tensor], tensor))


def spilled(kernel: BoundKernel, tiling: Tiling, target: Target) -> list[int]:
    """Local tensors that go out to main memory with this tiling, as indices."""
    parts = phases(kernel, tiling, distributed=target.execution == "waves")
    return sorted(Residency(kernel, tiling, target, parts).out)


def _bytes(kernel: BoundKernel, tensor: int) -> int:
    return storage_bytes(kernel.tensors[tensor].element, prod(kernel.tensors[tensor].shape))
