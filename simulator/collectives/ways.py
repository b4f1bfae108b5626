"""Where the messages of one device that stands for all go from every device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat

import numpy as np
import numpy.typing as npt

from xpu_shark.simulator.collectives.lower_alike import device_of
from xpu_shark.simulator.collectives.pieces import Names, Sent
from xpu_shark.simulator.collectives.schedule import Schedule, peer
from xpu_shark.simulator.network import Fabric, Link

Row = npt.NDArray[np.int64]  # one number a device, by rank
Way = tuple[Row, Row | None]  # who gets each device's message, whose link it takes (None: its own)


def ways(sent: Sequence[Sent], schedule: Schedule, fabric: Fabric, chunks: int) -> Iterator[Way]:
    """The way of every message of a stream, in order, by rank; then, for ever, that of one who
    sends nothing."""
    home: Way = (np.arange(schedule.devices), None)
    for part in sent:
        fixed = part.phase.turn == 0
        for turn in range(part.first, part.first + (1 if fixed else part.count)):
            way = _way(part, turn, schedule, fabric)
            yield from repeat(way, chunks * (part.count if fixed else 1))
    yield from repeat(home)


def _way(part: Sent, turn: int, schedule: Schedule, fabric: Fabric) -> Way:
    ranks = np.arange(schedule.devices)
    to = peer(part.lane, part.phase, turn, ranks)
    if part.hop == 0:
        return to, None
    if schedule.disjoint:
        rank_of = _ranks(schedule)
        paths = [_links(part, schedule, fabric, rank) for rank in range(schedule.devices)]
        return to, np.array([rank_of[path[part.hop].owner] for path in paths])
    # What the fabric does from the first device on, moved along every axis.
    owner, whose, stride = fabric.path(0, int(to[0]))[part.hop].owner, np.zeros_like(ranks), 1
    for extent in part.lane.dims:
        whose += (ranks // stride + owner // stride) % extent * stride
        stride *= extent
    return to, whose


def port_names(names: Names, schedule: Schedule, fabric: Fabric) -> list[dict[str, str]]:
    """For every rank, how its ports are called that are called otherwise on the first: on a walk
    through a grid each device leaves by its own axis, and links to peers are numbered."""
    renamed: list[dict[str, str]] = [{} for _ in range(schedule.devices)]
    if not schedule.disjoint and all(level.kind != "full" for level in fabric.levels):
        return renamed
    rank_of = _ranks(schedule)
    for part in {part for parts in names.sent.values() for part in parts}:
        first = _links(part, schedule, fabric, 0)
        for rank in range(schedule.devices):
            for one, own in zip(first, _links(part, schedule, fabric, rank), strict=True):
                renamed[rank_of[own.owner]][one.port] = own.port
    return renamed


def _ranks(schedule: Schedule) -> dict[int, int]:
    """Which rank each device acts as."""
    return {device_of(schedule, rank): rank for rank in range(schedule.devices)}


def _links(part: Sent, schedule: Schedule, fabric: Fabric, rank: int) -> tuple[Link, ...]:
    to = peer(part.lane, part.phase, part.first, rank)
    return fabric.path(device_of(schedule, rank), device_of(schedule, to))
