"""Tiles for an array of cores with small private memories: shrink until a core's share fits."""

from __future__ import annotations

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.gpu import shared_axes
from xpu_shark.simulator.tilers.shrink import shrink


def choose(kernel: BoundKernel, target: Target) -> Tiling:
    """Start from whole extents; halve what saves most until it fits and no longer pays."""
    tile = tuple(max(axis.extent, 1) for axis in kernel.axes)
    return shrink(kernel, Tiling(tile, shared_axes(kernel)), target)[0]
