"""Which tiles run at once: one core's, or a wave of workgroups over many cores.

Cores of one device do the same work on tiles of the same size, so one stands for all: an
instruction of the wave takes one core's time on the core's own units, and all cores' traffic on
what they share. A wave with tiles of several sizes lasts as long as its largest.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import isqrt, prod

import msgspec

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.plan import Tiling


class Variant(msgspec.Struct, frozen=True):
    """`cores` of the wave hold tiles with these extents, one an axis."""

    extents: tuple[int, ...]
    cores: int


class Wave(msgspec.Struct, frozen=True):
    """`count` equal waves, one after another."""

    count: int
    variants: tuple[Variant, ...]


class Grid(msgspec.Struct, frozen=True):
    """How the tiles lie: `tiles[i]` along looped axis `axes[i]`, `cover[i]` of them in a wave."""

    axes: tuple[int, ...]
    tiles: tuple[int, ...]
    cover: tuple[int, ...]

    def shared(self, axes: set[int], resident: bool) -> Fraction:
        """Fraction of the wave's loads of an operand that are different data.

        `axes` are those the operand depends on; `resident` says that a cache keeps all of it
        from wave to wave, so that it is fetched once in the whole run.
        """
        spans = self.tiles if resident else self.cover
        pairs = zip(self.axes, spans, strict=True)
        return Fraction(prod(span for axis, span in pairs if axis in axes), prod(spans) or 1)


def waves(kernel: BoundKernel, tiling: Tiling, cores: int) -> tuple[Wave, ...]:
    """All tiles in waves of at most `cores`, whole tiles first, edges last."""
    looped = [axis for axis in tiling.order if tiling.tile[axis] < kernel.axes[axis].extent]
    choices = [pieces(kernel.axes[axis].extent, tiling.tile[axis]) for axis in looped]
    queue: list[Variant] = []
    for choice in product(*choices):
        extents = [axis.extent for axis in kernel.axes]
        for axis, (size, _) in zip(looped, choice, strict=True):
            extents[axis] = size
        queue.append(Variant(tuple(extents), prod(count for _, count in choice)))
    return pack(queue, cores)


def grid(kernel: BoundKernel, tiling: Tiling, cores: int) -> Grid:
    """Tiles of a wave cover a near-square patch of the last two looped axes."""
    axes = tuple(a for a in tiling.order if tiling.tile[a] < kernel.axes[a].extent)
    tiles = tuple(-(-kernel.axes[axis].extent // tiling.tile[axis]) for axis in axes)
    left, cover = min(cores, prod(tiles)), [1] * len(tiles)
    if len(tiles) >= 2:
        side = min(tiles[-1], max(1, isqrt(left)))
        cover[-1] = max(side, min(tiles[-1], left // max(1, min(tiles[-2], left // side))))
        left = -(-left // cover[-1])
    for position in reversed(range(len(tiles))):
        if cover[position] == 1:
            cover[position] = min(tiles[position], left)
            left = -(-left // cover[position])
    return Grid(axes, tiles, tuple(cover))


def pieces(extent: int, tile: int) -> list[tuple[int, int]]:
    """(size, count) of whole tiles, then of the edge."""
    whole, edge = divmod(extent, tile)
    return [piece for piece in ((tile, whole), (edge, 1)) if piece[0] and piece[1]]


def pack(queue: list[Variant], cores: int) -> tuple[Wave, ...]:
    """Tiles in their order, `cores` of them at a time; `Variant.cores` counts tiles here."""
    result: list[Wave] = []
    open_wave: list[Variant] = []
    room = cores
    for variant in queue:
        left = variant.cores
        while left:
            if room == cores and left >= cores:
                result.append(Wave(left // cores, (Variant(variant.extents, cores),)))
                left %= cores
                continue
            taken = min(room, left)
            open_wave.append(Variant(variant.extents, taken))
            left, room = left - taken, room - taken
            if room == 0:
                result.append(Wave(1, tuple(open_wave)))
                open_wave, room = [], cores
    if open_wave:
        result.append(Wave(1, tuple(open_wave)))
    return tuple(result)
