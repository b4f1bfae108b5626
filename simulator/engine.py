"""The dataflow machine: runs a program in time order, exact to the picosecond.

An instruction is *ready* when its stream has finished the one before and every credit it waits
for is visible. Ready instructions are served in order of (ready time, stream name), so the order
in which streams are listed does not matter; service starts when the resource is free. Since a
credit is visible no earlier than the service that posts it, ready times never decrease from one
service to the next.

All state is plain data in `Machine` (positions, clocks, credits, release times), so that
`fold.py` can compare two moments of a run and skip whole periods between them. Busy times and
bytes are not state: they follow from how often each instruction ran.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from xpu_shark.simulator.code import Op, StreamState, flatten
from xpu_shark.simulator.components import merge, split
from xpu_shark.simulator.deadlock import explain
from xpu_shark.simulator.program import Program, ProgramError, check, instructions
from xpu_shark.simulator.timeline import Event, ResourceUse, StreamTimes, Timeline


class Machine:
    """The whole state of a run. `consumer[c]` is the number of the stream that waits on channel
    c, or -1; `folded` counts instructions that were not executed one by one."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.consumer = _consumers(program)
        read = frozenset(c for c, number in enumerate(self.consumer) if number >= 0)
        order = sorted(range(len(program.streams)), key=lambda n: program.streams[n].name)
        rank = {number: place for place, number in enumerate(order)}
        self.streams = [
            StreamState(number, rank[number], flatten(stream.body, read))
            for number, stream in enumerate(program.streams)
        ]
        self.by_rank = [self.streams[number] for number in order]
        self.ops = [op for stream in self.streams for op in stream.code if isinstance(op, Op)]
        self.credits = [deque([0] * channel.initial) for channel in program.channels]
        self.causes = [channel.cause for channel in program.channels]
        self.names = [resource.name for resource in program.resources]
        self.free = [0] * len(program.resources)
        self.heap: list[tuple[int, int]] = []
        self.folded = 0
        self._resolve()

    def _resolve(self) -> None:
        for op in self.ops:
            op.takes = tuple((self.credits[c], count, c) for c, count in op.waits)
            op.gives = tuple(
                (self.credits[c], count, c, self.streams[self.consumer[c]]) for c, count in op.posts
            )

    def start(self) -> None:
        """Bring every stream to its first instruction."""
        for stream in self.streams:
            stream.enter()
            self.prepare(stream)

    def prepare(self, stream: StreamState) -> None:
        """Queue the stream's next instruction if its credits are there, else mark it blocked."""
        if stream.pc == len(stream.code):
            return
        ready = stream.clock
        for queue, count, channel in stream.code[stream.pc].takes:  # type: ignore[union-attr]
            if len(queue) < count:
                stream.blocked = channel
                return
            visible = queue[count - 1]
            if visible > ready:
                ready = visible
        stream.blocked = -1
        stream.pending = True
        heappush(self.heap, (ready, stream.rank))

    # One function, not several: a call costs as much as a quarter of an instruction.
    def serve(self, stream: StreamState, ready: int) -> int:  # noqa: C901
        """Execute the stream's instruction, which is ready; return when it started."""
        op: Op = stream.code[stream.pc]  # type: ignore[assignment]
        stream.pending = False
        if ready > stream.clock:
            _add(stream.stalls, self._take(op), ready - stream.clock)
        else:
            for queue, count, _ in op.takes:
                queue.popleft()
                for _ in range(count - 1):
                    queue.popleft()
        resource = op.resource
        start = self.free[resource]
        if start > ready:
            _add(stream.stalls, self.names[resource], start - ready)
        else:
            start = ready
        end = stream.clock = self.free[resource] = start + op.service_ps
        op.executed += 1
        visible = end + op.latency_ps
        if visible > stream.visible:
            stream.visible = visible
        stream.pc += 1
        if op.back is not None:
            stream.advance(op.back)
        elif not op.straight:
            stream.enter()
        for queue, count, channel, waiter in op.gives:
            # A later post of lower latency must not overtake: a channel is a FIFO.
            here = queue[-1] if queue and queue[-1] > visible else visible
            queue.append(here)
            if count > 1:
                queue.extend([here] * (count - 1))
            if waiter.blocked == channel:
                self.prepare(waiter)
        if not stream.pending and stream.blocked < 0:
            self.prepare(stream)
        return start

    def _take(self, op: Op) -> str:
        """Remove the credits; return the cause of the one that came last."""
        last, cause = -1, ""
        for queue, count, channel in op.takes:
            visible = 0
            for _ in range(count):
                visible = queue.popleft()
            if visible > last:
                last, cause = visible, self.causes[channel]
        return cause


def run(program: Program, *, fold: bool = True, record: bool = False) -> Timeline:
    """Run to the end. `fold=False` executes every instruction; `record` also keeps them.

    Parts of the program that nothing couples run, and fold, apart. Raises `ProgramError` where
    the program is malformed or cannot move on.
    """
    check(program)
    parts = split(program)
    timelines = [_run_part(part.program, fold and not record, record) for part in parts]
    return merge(program, parts, timelines)


def _run_part(program: Program, fold: bool, record: bool) -> Timeline:
    from xpu_shark.simulator.fold import Folder  # fold reads the machine: it imports this file

    machine = Machine(program)
    folder = Folder(machine) if fold else None
    events: list[Event] = []
    machine.start()
    heap, by_rank, serve = machine.heap, machine.by_rank, machine.serve
    while heap:
        ready, rank = heap[0]
        stream = by_rank[rank]
        if stream.iterated >= 0:
            tag, stream.iterated = stream.iterated, -1
            if folder is not None and folder.skip(stream, tag, ready):
                continue
        heappop(heap)
        if record:
            events.append(_event(machine, stream, ready))
        else:
            serve(stream, ready)
    if not all(stream.finished for stream in machine.streams):
        raise ProgramError(explain(program, machine.streams, [len(q) for q in machine.credits]))
    return _timeline(machine, tuple(events))


def _event(machine: Machine, stream: StreamState, ready: int) -> Event:
    op: Op = stream.code[stream.pc]  # type: ignore[assignment]
    start = machine.serve(stream, ready)
    return Event(stream.number, op.resource, ready, start, start + op.service_ps)


def _consumers(program: Program) -> list[int]:
    consumer = [-1] * len(program.channels)
    for number, stream in enumerate(program.streams):
        for instruction in instructions(stream.body):
            for channel, _ in instruction.waits:
                consumer[channel] = number
    return consumer


def _timeline(machine: Machine, events: tuple[Event, ...]) -> Timeline:
    end = max((stream.visible for stream in machine.streams), default=0)
    streams = tuple(_times(machine, stream, end) for stream in machine.streams)
    busy, moved = [0] * len(machine.names), [0] * len(machine.names)
    for op in machine.ops:
        busy[op.resource] += op.executed * op.service_ps
        moved[op.resource] += op.executed * op.bytes
    resources = tuple(map(ResourceUse, machine.names, busy, moved))
    steps = sum(op.executed for op in machine.ops) - machine.folded
    return Timeline(end, streams, resources, steps, events)


def _times(machine: Machine, stream: StreamState, end: int) -> StreamTimes:
    ops = [op for op in stream.code if isinstance(op, Op)]
    return StreamTimes(
        machine.program.streams[stream.number].name,
        sum(op.executed * op.service_ps for op in ops),
        dict(sorted(stream.stalls.items())),
        end - stream.clock,
        sum(op.executed for op in ops),
    )


def _add(totals: dict[str, int], key: str, amount: int) -> None:
    totals[key] = totals.get(key, 0) + amount
