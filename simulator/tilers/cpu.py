"""Workgroups of a CPU: the IR's own compiler shares out what it wants; else blocks of up to 64."""

from __future__ import annotations

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.gpu import shared_axes

BLOCK = 64  # IREE's default: the most of a loop dim that goes to one workgroup


def choose(kernel: BoundKernel, target: Target) -> Tiling:
    """A kernel that the CPU's compiler configured without tile sizes is one workgroup."""
    whole = kernel.backend in target.iree.backends and not any(n.tiles for n in kernel.nests)
    order = shared_axes(kernel)
    tile = [max(axis.extent, 1) for axis in kernel.axes]
    for axis in () if whole else order:
        tile[axis] = min(tile[axis], BLOCK)
    return Tiling(tuple(tile), order)
