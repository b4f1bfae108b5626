"""An estimate of a schedule's time, by which candidates are ranked before they are simulated.

It leaves out the queueing of messages of different lanes on one link in time, though not their sum,
and never reaches a report.
"""

from __future__ import annotations

from collections import defaultdict

from xpu_shark.simulator.collectives.lower_alike import device_of, segments
from xpu_shark.simulator.collectives.lower_listed import ordered
from xpu_shark.simulator.collectives.pieces import REDUCE_TRAFFIC, Job, message_bytes, wire_ps
from xpu_shark.simulator.collectives.schedule import (
    Alike,
    Listed,
    Schedule,
    block_count,
    message_blocks,
    peer,
)
from xpu_shark.simulator.network import Fabric
from xpu_shark.simulator.units.dma import occupancy_ps

Load = defaultdict[object, int]  # resource -> picoseconds


def estimate_ps(schedule: Schedule, fabric: Fabric, job: Job) -> int:
    """Time without the launch: the slowest lane alone, or the resource with most to do."""
    load: Load = defaultdict(int)
    lanes = [
        _alike(schedule, lane, fabric, job, load)
        if isinstance(lane, Alike)
        else _listed(schedule, lane, fabric, job, load)
        for lane in schedule.lanes
    ]
    return max(0, *lanes, *load.values())


def _alike(schedule: Schedule, lane: Alike, fabric: Fabric, job: Job, load: Load) -> int:
    """Device 0's part; a chained message starts when the one before it was passed on."""
    total, start = 0, device_of(schedule, 0)
    for phase in lane.phases:
        size = message_bytes(schedule, message_blocks(lane, phase), block_count(lane), job)
        store = _memory_ps(job, size * (1 + REDUCE_TRAFFIC * phase.reduce))
        load["memory"] += phase.count * job.chunks * (store + _memory_ps(job, size))
        ports: defaultdict[str, int] = defaultdict(int)
        latency = 0
        for first, count in segments(schedule, lane, phase, fabric, folded=True):
            path = fabric.path(start, device_of(schedule, peer(lane, phase, first, 0)))
            wire, flight = wire_ps(path[0], size), sum(link.latency_ps for link in path) + store
            for link in path:
                load[link.port] += count * job.chunks * wire_ps(link, size)
            turns = max(job.chunks * wire, wire + flight) if phase.chained else job.chunks * wire
            ports[path[0].port] += count * turns
            latency = max(latency, flight if not phase.chained else turns - job.chunks * wire)
        last = sum(link.latency_ps for link in path) + store if phase.chained else latency
        total += max(ports.values()) + last - (latency if phase.chained else 0)
    return total


def _listed(schedule: Schedule, lane: Listed, fabric: Fabric, job: Job, load: Load) -> int:
    """The first chunk's way through the transfers; the others follow at the busiest link's pace."""
    transfers, before = ordered(lane)
    done: list[int] = []
    free: Load = defaultdict(int)
    round_trip: Load = defaultdict(int)
    for transfer, needs in zip(transfers, before, strict=True):
        size = message_bytes(schedule, len(transfer.blocks), lane.blocks, job)
        path = fabric.path(
            device_of(schedule, transfer.source), device_of(schedule, transfer.target)
        )
        store = _memory_ps(job, size * (1 + REDUCE_TRAFFIC * transfer.reduce))
        out = (path[0].owner, path[0].port)
        begin = max([free[out], *(done[number] for number in needs)])
        free[out] = begin + wire_ps(path[0], size)
        done.append(free[out] + sum(link.latency_ps for link in path) + store)
        for link in path:
            busy = wire_ps(link, size)
            round_trip[link.owner, link.port] += busy
            load[link.owner, link.port] += busy * job.chunks
    pace = max(round_trip.values(), default=0)
    return max(done, default=0) + (job.chunks - 1) * pace


def _memory_ps(job: Job, bytes: int) -> int:
    return occupancy_ps(job.memory, bytes) if job.memory is not None else 0
