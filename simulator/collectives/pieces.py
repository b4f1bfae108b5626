"""The instructions of one message, and how long each takes."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Protocol

import msgspec

from xpu_shark.simulator.collectives.schedule import Alike, Phase, Schedule
from xpu_shark.simulator.emit import Emitter
from xpu_shark.simulator.network import Link
from xpu_shark.simulator.program import Instruction
from xpu_shark.simulator.target import PS_PER_S, Memory
from xpu_shark.simulator.units.dma import moved_bytes, occupancy_ps

REDUCE_TRAFFIC = 3  # both operands read, the result written, besides the write of what arrives
Use = tuple[tuple[int, int], ...]
MARK = "@"  # between a name and the number of its device


def at(name: str, device: int) -> str:
    """A stream's or resource's name on one of several devices."""
    return f"{name}{MARK}{device:05d}"


class Job(msgspec.Struct, frozen=True):
    """`bytes` is the payload as `workload.Collective` has it, cut into `chunks`. Without a `memory`
    its traffic takes no time. `launch_ps` passes before a device starts. `slow` is the factor on
    the memory's rate of devices that have one."""

    bytes: int
    chunks: int = 1
    memory: Memory | None = None
    launch_ps: int = 0
    slow: Mapping[int, float] = {}


class Sent(msgspec.Struct, frozen=True):
    """`count` iterations of a phase from `first` on, whose messages take the ports of the first;
    a stream holds the path's link `hop` for each of their chunks."""

    lane: Alike
    phase: Phase
    first: int
    count: int
    hop: int


class Names:
    """Streams and resources by device; those of one that stands for all have no number."""

    def __init__(self, emitter: Emitter, *, folded: bool) -> None:
        self.emitter, self.folded = emitter, folded
        self.launched: dict[int, list[int]] = {}  # by device, channels that its launch posts to
        self.arrivals: set[int] = set()  # channels that lead from one device to another
        self.sent: dict[str, list[Sent]] = {}  # by stream, what one that stands for all sends

    def at(self, name: str, device: int) -> str:
        return name if self.folded else at(name, device)

    def queue(self, stream: str) -> int:
        """What instructions that take no shared resource run on: the stream's own."""
        base, _, device = stream.partition(MARK)
        return self.emitter.resource(f"{base}.queue{MARK}{device}" if device else f"{base}.queue")

    def key(self, device: int) -> int:
        return 0 if self.folded else device

    def after_launch(self, device: int, stream: str) -> Use:
        """A wait of `stream` for the launch of its device."""
        channel = self.emitter.channel(("launch", stream), "launch")
        self.launched.setdefault(device, []).append(channel)
        return ((channel, 1),)


def message_bytes(schedule: Schedule, blocks: int, lane_blocks: int, job: Job) -> int:
    """One chunk of a message of `blocks`, rounded up: the largest part sets the pace."""
    whole = len(schedule.lanes) * lane_blocks * job.chunks
    return -(-job.bytes * schedule.copies * blocks // whole)


class Wire(Protocol):
    """What of a link says how long a message holds it."""

    @property
    def bytes_per_s(self) -> float: ...
    @property
    def message_ps(self) -> int: ...


def wire_ps(link: Wire, bytes: int) -> int:
    """How long a message holds a link: what issuing it takes, and its bytes at the link's rate."""
    return link.message_ps - int(-bytes * PS_PER_S // link.bytes_per_s)


def traffic(names: Names, job: Job, device: int, stream: str, moved: int) -> Instruction:
    """`moved` bytes of the device's memory, or nothing where memory is no limit."""
    if job.memory is None:
        return Instruction(names.queue(stream), 0)
    total = moved_bytes(job.memory, bytes=moved, runs=1, run_bytes=moved)
    resource = names.emitter.resource(names.at(job.memory.name, device))
    service = occupancy_ps(job.memory, total)
    if device in job.slow:
        service = ceil(service / job.slow[device])
    return Instruction(resource, service, bytes=total)


def hold(
    names: Names,
    path: tuple[Link, ...],
    hop: int,
    stream: str,
    bytes: int,
    waits: Use,
    head: int | None,
    done: int,
) -> list[Instruction]:
    """Hold link `hop` of the path for one message. `head` tells the next link that the first byte
    is on its way, `done` the receiver that the last one is."""
    link = path[hop]
    resource = names.emitter.resource(names.at(link.port, link.owner))
    rest = sum(after.latency_ps for after in path[hop:])
    code: list[Instruction] = []
    if head is not None:
        code.append(Instruction(resource, 0, link.latency_ps, waits, ((head, 1),)))
        waits = ()
    window = _window(names, link, stream) if hop == 0 and link.in_flight else None
    if window is not None:
        waits = (*waits, (window, 1))
    code.append(Instruction(resource, wire_ps(link, bytes), rest, waits, ((done, 1),), bytes))
    if window is not None:  # the acknowledgement is back one more latency later
        code.append(Instruction(names.queue(stream), 0, 2 * rest, (), ((window, 1),)))
    return code


def _window(names: Names, link: Link, stream: str) -> int:
    return names.emitter.channel(("window", stream), "window", link.in_flight)
