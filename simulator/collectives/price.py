"""An estimate of a schedule's time, by which candidates are ranked before they are simulated.

It leaves out the queueing of messages of different lanes on one link in time, though not their sum,
and never reaches a report. A lower bound comes with it: what the busiest link or memory has to do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

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
from xpu_shark.simulator.network import Link
from xpu_shark.simulator.units.dma import occupancy_ps

Load = defaultdict[tuple[int, str], int]  # (device, port or memory) -> picoseconds
Path = tuple[Link, ...]


class Price(NamedTuple):
    """Picoseconds without the launch; no run is shorter than `least`."""

    least: int
    estimate: int


class Steps(NamedTuple):
    """A phase and the ways of its messages: how many take each. Those of one device, and of each
    with a slow link, are lists of their own; where messages wait for each other and differ, the
    ways of all devices are one list."""

    phase: Phase
    blocks: int
    ways: list[list[tuple[int, Path]]]


class Hop(NamedTuple):
    """A link as far as it matters how long a message of so many blocks holds it."""

    bytes_per_s: float
    message_ps: int
    blocks: int


class Flight(NamedTuple):
    """A listed transfer: the kind and name of its first link, its latencies, what it waits for."""

    first: Hop
    out: tuple[int, str]
    latency_ps: int
    needs: tuple[int, ...]
    reduce: bool


class Tree(NamedTuple):
    """A lane of listed transfers, out of `blocks` blocks; `hops` are all kinds of its links."""

    schedule: Schedule
    blocks: int
    flights: list[Flight]
    hops: set[Hop]


Links = defaultdict[tuple[int, str], Counter[Hop]]  # link -> how many messages of each kind


class Pricing:
    """Prices of one algorithm and protocol for any number of chunks: paths are found once."""

    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate
        self.lanes = [
            (schedule, lane, [_steps(candidate, schedule, lane, phase) for phase in lane.phases])
            for schedule in candidate.schedules
            for lane in schedule.lanes
            if isinstance(lane, Alike)
        ]
        links: Links = defaultdict(Counter)
        self.trees = [
            _tree(candidate, schedule, lane, links)
            for schedule in candidate.schedules
            for lane in schedule.lanes
            if isinstance(lane, Listed)
        ]
        self.links = {tuple(sorted(used.items())) for used in links.values()}  # each kind once

        # What devices on the way have to do for others is known where all do the same.
        self.exact = candidate.folded or all(
            steps.phase.chained for _, _, phases in self.lanes for steps in phases
        )

    def price(self, job: Job) -> Price:
        """The slowest lane alone, or the resource with most to do."""
        load: Load = defaultdict(int)
        times = [self._alike(*lane, job, load) for lane in self.lanes]
        pace = self._pace(job)
        times += [self._listed(lane, job, pace) for lane in self.trees]
        most = max([pace * job.chunks, *load.values()])
        return Price(most if self.exact else 0, max(most, *times))

    def _alike(
        self, schedule: Schedule, lane: Alike, phases: list[Steps], job: Job, load: Load
    ) -> int:
        """Phase after phase."""
        total = 0
        for steps in phases:
            size = message_bytes(schedule, steps.blocks, block_count(lane), job)
            store = _memory_ps(job, size * (1 + REDUCE_TRAFFIC * steps.phase.reduce))
            moved = steps.phase.count * job.chunks * (store + _memory_ps(job, size))
            load[device_of(schedule, 0), "memory"] += moved
            price = _chained if steps.phase.chained else _free
            total += price(steps, job.chunks, size, store, load)
        return total

    def _listed(self, lane: Tree, job: Job, pace: int) -> int:
        """The first chunk's way through the transfers; the others follow at the busiest link's
        pace."""
        done: list[int] = []
        free: defaultdict[tuple[int, str], int] = defaultdict(int)
        costs: dict[Hop, tuple[int, int]] = {}
        for flight in lane.flights:
            if flight.first not in costs:
                size = message_bytes(lane.schedule, flight.first.blocks, lane.blocks, job)
                costs[flight.first] = wire_ps(flight.first, size), _memory_ps(job, size)
            wire, memory = costs[flight.first]
            begin = max([free[flight.out], *(done[number] for number in flight.needs)])
            free[flight.out] = begin + wire
            store = memory * (1 + REDUCE_TRAFFIC * flight.reduce)
            done.append(begin + wire + flight.latency_ps + store)
        return max(done, default=0) + (job.chunks - 1) * pace

    def _pace(self, job: Job) -> int:
        """How long one chunk of all transfers takes the busiest link."""
        costs = {
            hop: wire_ps(hop, message_bytes(lane.schedule, hop.blocks, lane.blocks, job))
            for lane in self.trees
            for hop in lane.hops
        }
        return max((sum(n * costs[hop] for hop, n in used) for used in self.links), default=0)


def _tree(candidate: Candidate, schedule: Schedule, lane: Listed, links: Links) -> Tree:
    """The lane's transfers; adds what they send over each link to `links`."""
    flights: list[Flight] = []
    hops: set[Hop] = set()
    for transfer, needs in zip(*ordered(lane), strict=True):
        source, target = device_of(schedule, transfer.source), device_of(schedule, transfer.target)
        path = candidate.fabric.path(source, target)
        blocks = len(transfer.blocks)
        for link in path:
            hop = Hop(link.bytes_per_s, link.message_ps, blocks)
            hops.add(hop)
            links[link.owner, link.port][hop] += 1
        first = Hop(path[0].bytes_per_s, path[0].message_ps, blocks)
        latency = sum(link.latency_ps for link in path)
        out = (path[0].owner, path[0].port)
        flights.append(Flight(first, out, latency, needs, transfer.reduce))
    return Tree(schedule, lane.blocks, flights, hops)


def _steps(candidate: Candidate, schedule: Schedule, lane: Alike, phase: Phase) -> Steps:
    def way(turn: int, rank: int) -> Path:
        to = device_of(schedule, peer(lane, phase, turn, rank))
        return candidate.fabric.path(device_of(schedule, rank), to)

    if phase.chained:
        ranks = range(1 if candidate.folded else schedule.devices)
        ways = [[(phase.count, way(0, rank)) for rank in ranks]]
    else:
        slow = {owner for owner, _ in candidate.fabric.slow}
        others = (rank for rank in range(1, schedule.devices) if device_of(schedule, rank) in slow)
        parts = segments(schedule, lane, phase, candidate.fabric, folded=not slow)
        ways = [[(count, way(first, rank)) for first, count in parts] for rank in (0, *others)]
    return Steps(phase, message_blocks(lane, phase), ways)


def _chained(steps: Steps, chunks: int, size: int, store: int, load: Load) -> int:
    """A message starts when the one before it was passed on: at the pace of the device that has the
    slowest link or the longest way, since all wait for each other."""
    wire = flight = 0
    for count, path in (each for ways in steps.ways for each in ways):
        for link in path:
            held = wire_ps(link, size)
            load[link.owner, link.port] += count * chunks * held
            wire = max(wire, held)
        flight = max(flight, sum(link.latency_ps for link in path) + store)
    step = max(chunks * wire, wire + flight)
    return (steps.phase.count - 1) * step + chunks * wire + flight


def _free(steps: Steps, chunks: int, size: int, store: int, load: Load) -> int:
    """One device's messages, one after another on each first link, and the longest flight; of the
    devices that differ the slowest one's. Links on the way count as that device's own: what it
    sends through others, others send through it."""
    longest = 0
    for ways in steps.ways:
        ports: defaultdict[str, int] = defaultdict(int)
        flight, device = 0, ways[0][1][0].owner
        for count, path in ways:
            held = [wire_ps(link, size) for link in path]
            for link, busy in zip(path, held, strict=True):
                load[device, link.port] += count * chunks * busy
            ports[path[0].port] += count * chunks * max(held)
            flight = max(flight, sum(link.latency_ps for link in path) + store)
        longest = max(longest, max(ports.values()) + flight)
    return longest


def _memory_ps(job: Job, bytes: int) -> int:
    return occupancy_ps(job.memory, bytes) if job.memory is not None else 0
