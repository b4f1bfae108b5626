"""Streams of one device in a lane where every device does the same."""

from __future__ import annotations

from collections.abc import Iterable

from xpu_shark.simulator.collectives.pieces import (
    REDUCE_TRAFFIC,
    Job,
    Names,
    Sent,
    Use,
    hold,
    message_bytes,
    traffic,
)
from xpu_shark.simulator.collectives.schedule import (
    Alike,
    Phase,
    Schedule,
    block_count,
    message_blocks,
    peer,
    source,
)
from xpu_shark.simulator.emit import Bodies, Item
from xpu_shark.simulator.network import Fabric, Link
from xpu_shark.simulator.program import Instruction, Loop

Path = tuple[Link, ...]


class AlikeLane:
    """Emits one device's part of a lane. `received` is the number of messages so far, each in
    chunks, `taken` how many of their credits earlier sends have taken."""

    def __init__(
        self,
        schedule: Schedule,
        fabric: Fabric,
        job: Job,
        names: Names,
        lane: Alike,
        number: int,
        rank: int,
        bodies: Bodies,
    ) -> None:
        self.schedule, self.fabric, self.job = schedule, fabric, job
        self.names, self.lane, self.number = names, lane, number
        self.rank, self.bodies = rank, bodies
        self.me = device_of(schedule, rank)
        self.taken = self.received = 0

    def emit(self) -> None:
        """Append the device's streams to the bodies."""
        for place, phase in enumerate(self.lane.phases):
            self._phase(place, phase)

    def _phase(self, place: int, phase: Phase) -> None:
        blocks = message_blocks(self.lane, phase)
        size = message_bytes(self.schedule, blocks, block_count(self.lane), self.job)
        parts = segments(self.schedule, self.lane, phase, self.fabric, folded=self.names.folded)
        ports = {first: self._path(phase, first)[0].port for first, _ in parts}
        opened: set[str] = set()
        self._begin(place, {ports[0]} if phase.chained else set(ports.values()))
        for first, count in parts:
            port = ports[first]
            if phase.chained and first > 0:
                self._loop(
                    "issue", [self._go(((self._ready(), 1),), {port})], count, (place, first)
                )
                self.taken += count * self.job.chunks
            self._read(place, phase, first, count, size)
            self._send(place, phase, first, count, size, told=phase.chained or port not in opened)
            self._receive(place, phase, first, count, size)
            opened.add(port)
        self.received += phase.count

    def _begin(self, place: int, ports: set[str]) -> None:
        """The first iteration waits, chunk by chunk, for all that came before the phase."""
        chunks = self.job.chunks
        first: Use = ()
        later: Use = ()
        if self.received:
            missing = (self.received - 1) * chunks + 1 - self.taken
            first, later = ((self._ready(), missing),), ((self._ready(), 1),)
        elif self.job.launch_ps:
            first = self.names.after_launch(self.me, self._name("issue"))
        self._loop("issue", [self._go(first, ports)], 1, (place, "first"), chunks=1)
        if chunks > 1:
            self._loop("issue", [self._go(later, ports)], 1, (place, "later"), chunks=chunks - 1)
        self.taken = self.received * chunks

    def _go(self, waits: Use, ports: Iterable[str]) -> Instruction:
        """Tell the port's stream, and the read's, that they may start on a message."""
        streams = [self._name("send", port) for port in sorted(ports)]
        if self.job.memory is not None:
            streams.append(self._name("read"))
        posts = tuple((self._channel(("go", stream), "data"), 1) for stream in streams)
        return Instruction(self.names.queue(self._name("issue")), 0, 0, waits, posts)

    def _read(self, place: int, phase: Phase, first: int, count: int, size: int) -> None:
        if self.job.memory is None:
            return
        told = phase.chained or first == 0
        waits = ((self._channel(("go", self._name("read")), "data"), 1),) if told else ()
        to = device_of(self.schedule, peer(self.lane, phase, first, self.rank))
        code = traffic(self.names, self.job, self.me, self._name("read"), size)
        posts = ((self._arrival("read", "", self.me, to), 1),)
        code = Instruction(code.resource, code.service_ps, 0, waits, posts, code.bytes)
        self._sent(self._name("read"), Sent(self.lane, phase, first, count, 0))
        self._loop("read", [code], count, (place, first))

    def _send(
        self, place: int, phase: Phase, first: int, count: int, size: int, *, told: bool
    ) -> None:
        path = self._path(phase, first)
        port = path[0].port
        to = device_of(self.schedule, peer(self.lane, phase, first, self.rank))
        for hop in range(len(path)):
            stream = self._name(_role(hop), port)
            cause = "data" if hop == 0 else "link"
            waits = ((self._channel(("go", stream), cause), 1),) if hop or told else ()
            onward = self._name(_role(hop + 1), port)
            head = self._channel(("go", onward), "link") if hop + 1 < len(path) else None
            done = self._arrival(_role(hop), port, self.me, to)
            code = hold(self.names, path, hop, stream, size, waits, head, done)
            self._sent(stream, Sent(self.lane, phase, first, count, hop))
            self._loop(_role(hop), code, count, (place, first), port=port)

    def _sent(self, stream: str, sent: Sent) -> None:
        if self.names.folded:
            self.names.sent.setdefault(stream, []).append(sent)

    def _receive(self, place: int, phase: Phase, first: int, count: int, size: int) -> None:
        sender = source(self.lane, phase, first, self.rank)
        origin = device_of(self.schedule, sender)
        path = self._path(phase, first) if self.names.folded else self.fabric.path(origin, self.me)
        arrivals = [
            self._arrival(_role(hop), path[0].port, origin, self.me) for hop in range(len(path))
        ]
        if self.job.memory is not None:
            arrivals.append(self._arrival("read", "", origin, self.me))
        moved = size * (1 + (REDUCE_TRAFFIC if phase.reduce else 0))
        code = traffic(self.names, self.job, self.me, self._name("store"), moved)
        waits = tuple((channel, 1) for channel in arrivals)
        posts = ((self._ready(), 1),)
        code = Instruction(code.resource, code.service_ps, 0, waits, posts, code.bytes)
        self._loop("store", [code], count, (place, first))

    def _loop(
        self,
        role: str,
        code: list[Instruction],
        count: int,
        tag: tuple[object, ...],
        *,
        port: str = "",
        chunks: int | None = None,
    ) -> None:
        """`count` iterations of every chunk's code. Equal loops of all lanes advance together."""
        items: list[Item] = list(code)
        pieces = self.job.chunks if chunks is None else chunks
        for times, level in ((pieces, "chunk"), (count, "turn")):
            if times > 1:
                number = self.names.emitter.tag((level, times, *tag))
                items = [Loop(times, tuple(items), number)]
        self.bodies.setdefault(self._name(role, port), []).extend(items)

    def _path(self, phase: Phase, turn: int) -> Path:
        to = device_of(self.schedule, peer(self.lane, phase, turn, self.rank))
        return self.fabric.path(self.me, to)

    def _name(self, role: str, port: str = "") -> str:
        name = f"{role}.{self.number}.{port}" if port else f"{role}.{self.number}"
        return self.names.at(name, self.me)

    def _ready(self) -> int:
        return self._channel(("ready", self._name("store")), "data")

    def _channel(self, key: object, cause: str) -> int:
        return self.names.emitter.channel((self.number, self.names.key(self.me), key), cause)

    def _arrival(self, role: str, port: str, origin: int, to: int) -> int:
        pair = (self.names.key(origin), self.names.key(to))
        channel = self.names.emitter.channel((self.number, role, port, pair), "link")
        self.names.arrivals.add(channel)
        return channel


def device_of(schedule: Schedule, rank: int) -> int:
    """The device that acts as number `rank`."""
    return schedule.order[rank] if schedule.order else rank


def segments(
    schedule: Schedule, lane: Alike, phase: Phase, fabric: Fabric, *, folded: bool
) -> list[tuple[int, int]]:
    """(first iteration, how many) that take the same ports, the first of each set alone.

    With all devices simulated, every iteration that sends to another peer is on its own.
    """
    if phase.turn == 0 or (
        folded and len(fabric.levels) == 1 and fabric.levels[0].kind == "switch"
    ):
        return [(0, 1)] + ([(1, phase.count - 1)] if phase.count > 1 else [])
    if not folded:
        return [(turn, 1) for turn in range(phase.count)]
    start = device_of(schedule, 0)
    runs: list[list[int]] = []
    before: tuple[str, ...] = ()
    for turn in range(phase.count):
        to = device_of(schedule, peer(lane, phase, turn, 0))
        ports = tuple(link.port for link in fabric.path(start, to))
        if ports == before:
            runs[-1].append(turn)
        else:
            runs.append([turn])
        before = ports
    return [part for run in runs for part in ((run[0], 1), (run[0] + 1, len(run) - 1)) if part[1]]


def _role(hop: int) -> str:
    return f"hop{hop}" if hop else "send"
