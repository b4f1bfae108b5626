"""Mesh: along axes that are open, parts spread from every device to both ends of its row.

A part goes out both ways and stops at the ends, so nothing has to come back around as on a ring.
On a line of p devices an all-gather takes (p - 1) (a + n / (p B)): the device at an end gets p - 1
parts over its one link. Axes follow each other on what is there: along k axes of f devices with
links that are no limit, k (f - 1) a. A reduce-scatter is the same backwards, an all-reduce both
(Barnett, Littlefield, Payne, van de Geijn, "Global combine on mesh architectures with wormhole
routing", IPPS 1993).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xpu_shark.simulator.collectives.schedule import Listed, Schedule, Transfer
from xpu_shark.simulator.network import Fabric

Round = tuple[Transfer, ...]
MOST = 256  # transfers are listed one by one: past this others are found faster


def schedule(kind: str, fabric: Fabric) -> Schedule | None:
    """None where no axis is open, or where an axis is neither a line nor a ring, nor of two."""
    levels, p = fabric.levels, fabric.devices
    kinds = {level.kind for level in levels}
    grid = all(level.kind in ("line", "ring") or level.extent == 2 for level in levels)
    if p > MOST or "line" not in kinds or not grid:
        return None
    gather = [step for axis in range(len(levels)) for step in _spread(fabric.dims, axis)]
    rounds: list[Round] = []
    if kind in ("all_reduce", "reduce_scatter"):
        rounds += [_reversed(step) for step in reversed(gather)]
    if kind in ("all_reduce", "all_gather"):
        rounds += gather
    return Schedule(p, (Listed(p, tuple(rounds)),))


def _spread(dims: Sequence[int], axis: int) -> Iterator[Round]:
    """In round t every device passes on what started t away on either side. A device has what its
    axes before `axis` brought: the parts of all devices that differ from it only on them."""
    stride, extent = prod(dims[:axis]), dims[axis]
    for away in range(extent - 1):
        transfers: list[Transfer] = []
        for device in range(prod(dims)):
            at = device // stride % extent
            first = device - device % stride  # of those that differ on axes before
            for way in (1, -1):
                origin, to = at - way * away, at + way
                if 0 <= origin < extent and 0 <= to < extent:
                    start = first + (origin - at) * stride
                    blocks = tuple(range(start, start + stride))
                    transfers.append(Transfer(device, device + way * stride, blocks))
        yield tuple(transfers)


def _reversed(step: Round) -> Round:
    """Partial sums come back by the way that parts went out."""
    return tuple(
        Transfer(transfer.target, transfer.source, transfer.blocks, reduce=True)
        for transfer in step
    )
