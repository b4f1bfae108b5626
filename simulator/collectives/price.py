"""An estimate of a schedule's time, by which candidates are ranked before they are simulated.

It leaves out the queueing of messages of different lanes on one link in time, though not their sum,
and never reaches a report.
"""

from __future__ import annotations

from collections import defaultdict

from xpu_shark.simulator.collectives.candidates import Candidate
from xpu_shark.simulator.collectives.lower_alike import device_of, segments
from xpu_shark.simulator.collectives.lower_listed import ordered
from xpu_shark.simulator.collectives.pieces import REDUCE_TRAFFIC, Job, message_bytes, wire_ps
from xpu_shark.simulator.collectives.schedule import (
    Alike,
    Listed,
    Phase,
    Schedule,
    block_count,
    message_blocks,
    peer,
)
from xpu_shark.simulator.network import Fabric, Link
from xpu_shark.simulator.units.dma import occupancy_ps

Load = defaultdict[object, int]  # resource -> picoseconds


def estimate_ps(candidate: Candidate, job: Job) -> int:
    """Time without the launch: the slowest lane alone, or the resource with most to do."""
    load: Load = defaultdict(int)
    fabric = candidate.fabric
    lanes = [
        _alike(schedule, lane, candidate, job, load)
        if isinstance(lane, Alike)
        else _listed(schedule, lane, fabric, job, load)
        for schedule in candidate.schedules
        for lane in schedule.lanes
    ]
    return max(0, *lanes, *load.values())


def _alike(schedule: Schedule, lane: Alike, candidate: Candidate, job: Job, load: Load) -> int:
    """Phase after phase."""
    total = 0
    for phase in lane.phases:
        size = message_bytes(schedule, message_blocks(lane, phase), block_count(lane), job)
        store = _memory_ps(job, size * (1 + REDUCE_TRAFFIC * phase.reduce))
        load[schedule.order[:1], "memory"] += (
            phase.count * job.chunks * (store + _memory_ps(job, size))
        )
        price = _chained if phase.chained else _free
        total += price(schedule, lane, phase, candidate, size, store, load)
    return total


def _chained(
    schedule: Schedule,
    lane: Alike,
    phase: Phase,
    candidate: Candidate,
    size: int,
    store: int,
    load: Load,
) -> int:
    """A message starts when the one before it was passed on: at the pace of the device that has the
    slowest link or the longest way, since all wait for each other."""
    wire = flight = 0
    fabric, chunks = candidate.fabric, candidate.chunks
    for rank in range(1 if candidate.folded else schedule.devices):
        for link in (path := _path(schedule, lane, phase, fabric, 0, rank)):
            held = wire_ps(link, size)
            load[link.owner, link.port] += phase.count * chunks * held
            wire = max(wire, held)
        flight = max(flight, sum(link.latency_ps for link in path) + store)
    step = max(chunks * wire, wire + flight)
    return (phase.count - 1) * step + chunks * wire + flight


def _free(
    schedule: Schedule,
    lane: Alike,
    phase: Phase,
    candidate: Candidate,
    size: int,
    store: int,
    load: Load,
) -> int:
    """Device 0's messages, one after another on each first link, and the longest flight. Links on
    the way count as that device's own: what it sends through others, others send through it."""
    ports: Load = defaultdict(int)
    flight = 0
    fabric, chunks = candidate.fabric, candidate.chunks
    for first, count in segments(schedule, lane, phase, fabric, folded=True):
        path = _path(schedule, lane, phase, fabric, first, 0)
        for link in path:
            load[0, link.port] += count * chunks * wire_ps(link, size)
        ports[path[0].port] += count * chunks * max(wire_ps(link, size) for link in path)
        flight = max(flight, sum(link.latency_ps for link in path) + store)
    return max(ports.values()) + flight


def _path(
    schedule: Schedule, lane: Alike, phase: Phase, fabric: Fabric, turn: int, rank: int
) -> tuple[Link, ...]:
    to = device_of(schedule, peer(lane, phase, turn, rank))
    return fabric.path(device_of(schedule, rank), to)


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
