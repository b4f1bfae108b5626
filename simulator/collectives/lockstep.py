"""All devices of a collective at once, where all do the same: their clocks are rows of arrays.

One device that stands for all says in which order its instructions are served. That order is then
executed for every device: each has clocks, credits and release times of its own, and messages go
to the peers and over the links that they really take. At every resource that streams share, first
come, first served is checked for every device. Where it holds, the engine would do the same, since
what it does at a resource follows from the ready times there; so this is its run of all devices, to
the picosecond, at NumPy's speed. Where it does not hold there is no result, and the engine has to
run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heappop

import numpy as np

from xpu_shark.simulator.code import Op, StreamState
from xpu_shark.simulator.collectives.lower import one_for_all
from xpu_shark.simulator.collectives.lower_alike import device_of
from xpu_shark.simulator.collectives.pieces import MARK, Job, Names, at
from xpu_shark.simulator.collectives.schedule import Schedule
from xpu_shark.simulator.collectives.ways import Row, port_names, ways
from xpu_shark.simulator.engine import Machine
from xpu_shark.simulator.network import Fabric
from xpu_shark.simulator.program import Program, instructions
from xpu_shark.simulator.timeline import ResourceUse, StreamTimes, Timeline

Cause = tuple[str, tuple[int, ...]]  # and the devices whose resource it is, () for a channel's


class OrderError(Exception):
    """Devices would be served in different orders."""


def run_all(schedule: Schedule, fabric: Fabric, job: Job) -> Timeline | None:
    """The timeline of all devices, as the engine gives it for the program that `lower` makes of a
    schedule that is `foldable`; None where devices are served in different orders."""
    program, names = one_for_all(schedule, fabric, job)
    devices = _Devices(program, names, schedule, fabric, job.chunks)
    try:
        for stream, op in served(program):
            devices.serve(stream, op)
    except OrderError:
        return None
    return devices.timeline()


def served(program: Program) -> Iterator[tuple[StreamState, Op]]:
    """Every instruction of the program, in the engine's order."""
    machine = Machine(program)
    machine.start()
    while machine.heap:
        ready, rank = heappop(machine.heap)
        stream = machine.by_rank[rank]
        op = stream.code[stream.pc]
        assert isinstance(op, Op)
        machine.serve(stream, ready)
        yield stream, op


class _Devices:
    """The state of all devices; rows are numbered as streams, channels and resources are in the
    program of one."""

    def __init__(
        self, program: Program, names: Names, schedule: Schedule, fabric: Fabric, chunks: int
    ) -> None:
        p = schedule.devices
        self.home = np.arange(p)
        self.program, self.schedule, self.arrivals = program, schedule, names.arrivals
        self.ways = [
            ways(names.sent.get(s.name, ()), schedule, fabric, chunks) for s in program.streams
        ]
        self.way = [next(way) for way in self.ways]
        self.clock, self.visible = (np.zeros((len(program.streams), p), np.int64) for _ in "cv")
        self.credits = [deque([np.zeros(p, np.int64)] * c.initial) for c in program.channels]
        self.free, self.asked, self.asker = (
            np.zeros((len(program.resources), p), np.int64) for _ in "far"
        )
        self.places = _places(program, schedule)
        self.shared = _shared(program, names)
        self.stalls: list[dict[Cause, Row]] = [{} for _ in program.streams]
        self.busy = [0] * len(program.streams)
        self.executed = [0] * len(program.streams)
        self.used = [[0, 0] for _ in program.resources]
        self.ports = port_names(names, schedule, fabric)

    def serve(self, stream: StreamState, op: Op) -> None:
        """Execute one instruction on every device."""
        number = stream.number
        ready = self._take(number, op)
        whose = self.way[number][1]
        start = self._start(number, op.resource, ready, whose)
        end = start + op.service_ps
        self.clock[number] = end
        if whose is None:
            self.free[op.resource] = end
        else:
            self.free[op.resource, whose] = end
        visible = end + op.latency_ps
        np.maximum(self.visible[number], visible, out=self.visible[number])
        self.busy[number] += op.service_ps
        self.executed[number] += 1
        self.used[op.resource][0] += op.service_ps
        self.used[op.resource][1] += op.bytes
        self._post(number, op, visible)

    def _take(self, number: int, op: Op) -> Row:
        """When the instruction is ready on every device; the wait goes to the credit that came
        last."""
        clock: Row = self.clock[number]
        rows: list[Row] = []
        for channel, count in op.waits:
            queue = self.credits[channel]
            for _ in range(count):
                row = queue.popleft()
            rows.append(row)
        if not rows:
            return clock.copy()
        last: Row = np.maximum.reduce(rows)
        wait = np.maximum(last - clock, 0)
        if wait.any():
            for (channel, _), row in zip(op.waits, rows, strict=True):
                here = np.where(row == last, wait, 0)
                self._stall(number, (self.program.channels[channel].cause, ()), here)
                wait = wait - here
        return np.maximum(last, clock)

    def _start(self, number: int, resource: int, ready: Row, whose: Row | None) -> Row:
        """When service starts, at a resource that serves first come, first served."""
        if resource not in self.shared:
            return ready
        own = slice(None) if whose is None else whose
        asked, asker, place = (
            self.asked[resource, own],
            self.asker[resource, own],
            self.places[number],
        )
        if ((ready < asked) | ((ready == asked) & (place < asker))).any():
            raise OrderError
        self.asked[resource, own], self.asker[resource, own] = ready, place
        start: Row = np.maximum(ready, self.free[resource, own])
        if (late := start - ready).any():
            owners = self.home if whose is None else whose
            self._stall(number, (self.program.resources[resource].name, tuple(owners)), late)
        return start

    def _post(self, number: int, op: Op, visible: Row) -> None:
        for channel, count in op.posts:
            queue, row = self.credits[channel], visible
            if channel in self.arrivals:
                to, _ = self.way[number]
                row = np.empty_like(visible)
                row[to] = visible
                self.way[number] = next(self.ways[number])
            if queue and (queue[-1] > row).any():
                raise OrderError
            queue.extend([row] * count)

    def _stall(self, number: int, cause: Cause, time: Row) -> None:
        if cause in self.stalls[number]:
            self.stalls[number][cause] += time
        else:
            self.stalls[number][cause] = time.copy()

    def timeline(self) -> Timeline:
        """What the engine would give, stream by stream of each device."""
        end = int(self.visible.max(initial=0))
        streams: list[StreamTimes] = []
        resources: list[ResourceUse] = []
        for rank, ports in enumerate(self.ports):
            device = device_of(self.schedule, rank)
            streams += [self._times(n, rank, end) for n in range(len(self.clock))]
            resources += [
                ResourceUse(at(ports.get(resource.name, resource.name), device), *use)
                for resource, use in zip(self.program.resources, self.used, strict=True)
            ]
        steps = sum(self.executed) * self.schedule.devices
        return Timeline(end, tuple(streams), tuple(resources), steps)

    def _times(self, number: int, rank: int, end: int) -> StreamTimes:
        stalls: dict[str, int] = {}
        for (cause, owners), times in self.stalls[number].items():
            name = at(cause, device_of(self.schedule, owners[rank])) if owners else cause
            if times[rank]:
                stalls[name] = stalls.get(name, 0) + int(times[rank])
        parts = self.program.streams[number].name.split(".", 2)  # role, lane, port
        parts[2:] = [self.ports[rank].get(port, port) for port in parts[2:]]
        return StreamTimes(
            at(".".join(parts), device_of(self.schedule, rank)),
            self.busy[number],
            dict(sorted(stalls.items())),
            end - int(self.clock[number, rank]),
            self.executed[number],
        )


def _places(program: Program, schedule: Schedule) -> list[Row]:
    """Each stream's place among all devices' streams by name, which breaks ties."""
    names = sorted(stream.name + MARK for stream in program.streams)
    devices = np.array([device_of(schedule, rank) for rank in range(schedule.devices)])
    return [
        names.index(stream.name + MARK) * schedule.devices + devices for stream in program.streams
    ]


def _shared(program: Program, names: Names) -> frozenset[int]:
    """Resources that more than one stream uses, of one device or of several."""
    users: dict[int, set[str]] = {}
    for stream in program.streams:
        far = any(part.hop for part in names.sent.get(stream.name, ()))
        for instruction in instructions(stream.body):
            users.setdefault(instruction.resource, set()).add(stream.name)
            if far:
                users[instruction.resource].add("")
    return frozenset(resource for resource, streams in users.items() if len(streams) > 1)
