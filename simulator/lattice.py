"""Tilings one step from each other: a size up or down along one axis, or two loops exchanged."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.plan import Tiling, few_edges
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.granule import granules

MOST_PIECES = 8


def sizes(extent: int, step: int) -> list[int]:
    """Tile sizes along one axis, ascending: `step` times 1, 2, 3, 4, 6, 8, 12, ..., the whole
    extent, and two to `MOST_PIECES` equal pieces of it in whole steps."""
    extent = max(extent, 1)
    found, size = {extent}, step
    while size < extent:
        found |= {size, size // step * 3 // 2 * step}
        size *= 2
    found |= {-(-extent // (pieces * step)) * step for pieces in range(2, MOST_PIECES + 1)}
    return sorted(size for size in found if size <= extent)


class Lattice:
    """All tilings of one kernel: each axis in any of its `sizes`, loops in any order."""

    def __init__(self, kernel: BoundKernel, target: Target) -> None:
        self.kernel = kernel
        steps = granules(kernel, target)
        self.sizes = [sizes(a.extent, s) for a, s in zip(kernel.axes, steps, strict=True)]

    def canonical(self, tiling: Tiling) -> Tiling:
        """One spelling of all plain tilings that run alike: axes that need no loop come last."""
        tiling = few_edges(self.kernel, tiling)
        looped = self._looped(tiling)
        rest = sorted(axis for axis in tiling.order if axis not in looped)
        return Tiling(tiling.tile, (*looped, *rest), "best")

    def neighbours(self, tiling: Tiling) -> Iterator[Tiling]:
        """Every tiling one step away, canonical."""
        for axis, size in enumerate(tiling.tile):
            options = self.sizes[axis]
            below, above = bisect_left(options, size) - 1, bisect_right(options, size)
            for place in (below, above):
                if 0 <= place < len(options):
                    tile = (*tiling.tile[:axis], options[place], *tiling.tile[axis + 1 :])
                    yield self.canonical(Tiling(tile, tiling.order))
        looped = self._looped(tiling)
        for first in range(len(looped) - 1):
            order = list(tiling.order)
            places = [order.index(axis) for axis in looped[first : first + 2]]
            order[places[0]], order[places[1]] = order[places[1]], order[places[0]]
            yield self.canonical(Tiling(tiling.tile, tuple(order)))

    def _looped(self, tiling: Tiling) -> list[int]:
        axes = self.kernel.axes
        return [axis for axis in tiling.order if tiling.tile[axis] < axes[axis].extent]
