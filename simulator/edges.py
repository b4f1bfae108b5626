"""What tiles that do not divide the work cost: time in edge tiles, multiply-adds for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import msgspec

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.nest_cost import matrix_element, ops
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.units import matrix


class Edges(msgspec.Struct, frozen=True):
    """`edge_share`: of the units' busy time, the part on tiles that are cut off at an edge;
    `padded_share`: of the matrix unit's multiply-adds, the part on padding. Both from 0 to 1."""

    edge_share: float
    padded_share: float


class _Tile(msgspec.Struct, frozen=True):
    """`count` tiles with these extents, one a loop dim of the nest, of which `used` are there;
    `cut` at an edge."""

    extents: tuple[int, ...]
    used: tuple[int, ...]
    count: int
    cut: bool


def edges(kernel: BoundKernel, tiling: Tiling, target: Target) -> Edges:
    """Over all tiles of all nests that execute."""
    busy, at_edge, spent, wasted = 0, 0, 0, 0
    for nest in kernel.nests:
        if not nest.points * nest.trips:
            continue
        for tile in _tiles(kernel, tiling, nest):
            times = tile.count * nest.trips
            service = sum(op.cost.service_ps for op in ops(kernel, nest, target, tile.extents))
            busy += times * service
            at_edge += times * service * tile.cut
            padded, useful = _macs(nest, target, tile)
            spent += times * padded
            wasted += times * (padded - useful)
    return Edges(at_edge / busy if busy else 0.0, wasted / spent if spent else 0.0)


def _tiles(kernel: BoundKernel, tiling: Tiling, nest: BoundNest) -> Iterator[_Tile]:
    """The nest's tiles, equal ones as one."""
    pieces = [
        _pieces(extent, min(tiling.transfer[axis], kernel.axes[axis].extent), tiling.tile[axis])
        for axis, extent in zip(nest.axes, nest.extents, strict=True)
    ]
    for choice in product(*pieces):
        extents, used, counts, cuts = zip(*choice, strict=True) if choice else ((), (), (), ())
        yield _Tile(tuple(extents), tuple(used), prod(counts), any(cuts))


def _pieces(extent: int, moved: int, tile: int) -> list[tuple[int, int, int, bool]]:
    """(size, what of it is there, how many, whether cut off) of whole tiles, then of the edge.
    Tiles of what a transfer brings are all worked on as whole ones."""
    whole, edge = divmod(extent, moved)
    found = []
    for part, count in ((moved, whole), (edge, 1)):
        if tile >= moved:
            found.append((part, part, count, part < moved))
        else:
            inside, rest = divmod(part, tile)
            found += [(tile, tile, inside * count, False), (tile, rest, count, True)]
    return [piece for piece in found if piece[1] and piece[2]]


def _macs(nest: BoundNest, target: Target, tile: _Tile) -> tuple[int, int]:
    """Multiply-adds that the matrix unit makes for one tile: with padding, without."""
    dims = nest.contraction
    if dims is None or matrix_element(target, dims) is None:
        return 0, 0
    batch, m, n, k = (
        prod(tile.extents[dim] for dim in role) for role in (dims.batch, dims.m, dims.n, dims.k)
    )
    return matrix.padded_macs(target, batch=batch, m=m, n=n, k=k), prod(tile.used)
