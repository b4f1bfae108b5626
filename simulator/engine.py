"""The dataflow machine: runs a program in time order, exact to the picosecond.

An instruction is *ready* when its stream has finished the one before and every credit it waits
for is visible. Ready instructions are served in order of (ready time, stream name), so the order
in which streams are listed does not matter; service starts when the resource is free. Since a
credit is visible no earlier than the service that posts it, ready times never decrease from one
service to the next.

All state is plain data in `Machine` (positions, clocks, credits, release times), so that
`fold.py` can compare two moments of a run and skip whole periods between them.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

from xpu_shark.simulator.components import merge, split
from xpu_shark.simulator.program import Instruction, Loop, Program, ProgramError, check
from xpu_shark.simulator.timeline import Event, ResourceUse, StreamTimes, Timeline


@dataclass(slots=True, eq=False)
class Begin:
    """Enter a loop: push a counter."""

    count: int
    tag: int


@dataclass(slots=True, eq=False)
class End:
    """Close an iteration: go back to `start` or pop the counter."""

    count: int
    tag: int
    start: int


Code = list[Instruction | Begin | End]


@dataclass(slots=True, eq=False)
class StreamState:
    """Where one stream is. `loops` are (tag, iterations done, count), outermost first."""

    number: int
    rank: int  # place among the streams sorted by name: breaks ties
    code: Code
    pc: int = 0
    tags: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    clock: int = 0
    blocked: int = -1  # channel that lacks credits, or -1
    pending: bool = False  # ready, waits for its turn
    iterated: int = -1  # tag of the loop whose next iteration starts here, or -1
    visible: int = 0  # when the last of its results is
    busy: int = 0
    stalls: dict[str, int] = field(default_factory=dict)
    executed: int = 0

    @property
    def finished(self) -> bool:
        return self.pc == len(self.code)


class Machine:
    """The whole state of a run."""

    def __init__(self, program: Program) -> None:
        self.program = program
        order = sorted(range(len(program.streams)), key=lambda n: program.streams[n].name)
        rank = {number: place for place, number in enumerate(order)}
        self.streams = [
            StreamState(number, rank[number], _flatten(stream.body))
            for number, stream in enumerate(program.streams)
        ]
        self.by_rank = [self.streams[number] for number in order]
        self.credits = [deque([0] * channel.initial) for channel in program.channels]
        self.consumer = _consumers(program)
        self.causes = [channel.cause for channel in program.channels]
        self.names = [resource.name for resource in program.resources]
        self.free = [0] * len(program.resources)
        self.busy = [0] * len(program.resources)
        self.bytes = [0] * len(program.resources)
        self.heap: list[tuple[int, int]] = []
        self.steps = 0

    def prepare(self, stream: StreamState) -> None:
        """Queue the stream's next instruction if its credits are there, else mark it blocked."""
        if stream.pc == len(stream.code):
            return
        instruction = stream.code[stream.pc]
        ready, credits = stream.clock, self.credits
        for channel, count in instruction.waits:  # type: ignore[union-attr]
            queue = credits[channel]
            if len(queue) < count:
                stream.blocked = channel
                return
            visible = queue[count - 1]
            if visible > ready:
                ready = visible
        stream.blocked = -1
        stream.pending = True
        heapq.heappush(self.heap, (ready, stream.rank))

    def serve(self, stream: StreamState, ready: int) -> tuple[Instruction, int]:
        """Execute the stream's instruction, which is ready; return it and its start time."""
        instruction: Instruction = stream.code[stream.pc]  # type: ignore[assignment]
        stream.pending = False
        if ready > stream.clock:
            _add(stream.stalls, self._take(stream, instruction), ready - stream.clock)
        else:
            for channel, count in instruction.waits:
                queue = self.credits[channel]
                for _ in range(count):
                    queue.popleft()
        resource = instruction.resource
        start = ready
        if self.free[resource] > ready:
            start = self.free[resource]
            _add(stream.stalls, self.names[resource], start - ready)
        service = instruction.service_ps
        stream.clock = self.free[resource] = start + service
        stream.busy += service
        stream.executed += 1
        self.busy[resource] += service
        self.bytes[resource] += instruction.bytes
        self.steps += 1
        self._post(stream, instruction)
        return instruction, start

    def _take(self, stream: StreamState, instruction: Instruction) -> str:
        """Remove the credits; return the cause of the one that came last."""
        last, cause = -1, ""
        for channel, count in instruction.waits:
            queue = self.credits[channel]
            visible = 0
            for _ in range(count):
                visible = queue.popleft()
            if visible > last:
                last, cause = visible, self.causes[channel]
        return cause

    def _post(self, stream: StreamState, instruction: Instruction) -> None:
        visible = stream.clock + instruction.latency_ps
        if visible > stream.visible:
            stream.visible = visible
        _advance(stream)
        for channel, count in instruction.posts:
            queue = self.credits[channel]
            # A later post of lower latency must not overtake: a channel is a FIFO.
            if queue and queue[-1] > visible:
                visible_here = queue[-1]
            else:
                visible_here = visible
            queue.extend([visible_here] * count)
            waiter = self.consumer[channel]
            if waiter >= 0 and self.streams[waiter].blocked == channel:
                self.prepare(self.streams[waiter])
        if not stream.pending and stream.blocked < 0:
            self.prepare(stream)


def run(program: Program, *, fold: bool = True, record: bool = False) -> Timeline:
    """Run to the end. `fold=False` executes every instruction; `record` also keeps them.

    Parts of the program that nothing couples run, and fold, apart. Raises `ProgramError` where
    the program is malformed or cannot move on.
    """
    check(program)
    parts = split(program)
    machines = [_run_part(part.program, fold and not record, record) for part in parts]
    return merge(program, parts, machines)


def _run_part(program: Program, fold: bool, record: bool) -> Timeline:
    from xpu_shark.simulator.fold import Folder

    machine = Machine(program)
    folder = Folder(machine) if fold else None
    events: list[Event] = []
    for stream in machine.streams:
        _advance(stream, first=True)
        machine.prepare(stream)
    heap = machine.heap
    while heap:
        ready, rank = heap[0]
        stream = machine.by_rank[rank]
        if stream.iterated >= 0:
            tag, stream.iterated = stream.iterated, -1
            if folder is not None and folder.skip(stream, tag, ready):
                continue
        heapq.heappop(heap)
        instruction, start = machine.serve(stream, ready)
        if record:
            end = start + instruction.service_ps
            events.append(Event(stream.number, instruction.resource, ready, start, end))
    _require_finished(machine)
    return _timeline(machine, tuple(events))


def _flatten(body: tuple[Instruction | Loop, ...]) -> Code:
    code: Code = []
    for item in body:
        if isinstance(item, Instruction):
            code.append(item)
            continue
        inner = _flatten(item.body)
        if item.count < 1 or not inner:
            continue
        code.append(Begin(item.count, item.tag))
        offset = len(code)
        for op in inner:
            code.append(End(op.count, op.tag, op.start + offset) if isinstance(op, End) else op)
        code.append(End(item.count, item.tag, offset))
    return code


def _advance(stream: StreamState, *, first: bool = False) -> None:
    """Move to the next instruction, through loop ends and beginnings."""
    code, pc = stream.code, stream.pc if first else stream.pc + 1
    while pc < len(code):
        op = code[pc]
        if isinstance(op, Instruction):
            break
        if isinstance(op, Begin):
            stream.tags.append(op.tag)
            stream.counts.append(op.count)
            stream.done.append(0)
            pc += 1
            continue
        stream.done[-1] += 1
        if stream.done[-1] < op.count:
            stream.iterated = op.tag
            pc = op.start
        else:
            stream.tags.pop()
            stream.counts.pop()
            stream.done.pop()
            pc += 1
    stream.pc = pc


def _consumers(program: Program) -> list[int]:
    consumer = [-1] * len(program.channels)
    for number, stream in enumerate(program.streams):
        for op in _flatten(stream.body):
            if isinstance(op, Instruction):
                for channel, _ in op.waits:
                    consumer[channel] = number
    return consumer


def _require_finished(machine: Machine) -> None:
    stuck = [stream for stream in machine.streams if not stream.finished]
    if not stuck:
        return
    program = machine.program
    waits = ", ".join(
        f"{program.streams[stream.number].name} waits on {program.channels[stream.blocked].name}"
        for stream in stuck
    )
    raise ProgramError(f"deadlock: {waits}")


def _timeline(machine: Machine, events: tuple[Event, ...]) -> Timeline:
    program = machine.program
    end = max((stream.visible for stream in machine.streams), default=0)
    streams = tuple(
        StreamTimes(
            program.streams[state.number].name,
            state.busy,
            dict(sorted(state.stalls.items())),
            end - state.clock,
            state.executed,
        )
        for state in machine.streams
    )
    resources = tuple(map(ResourceUse, machine.names, machine.busy, machine.bytes))
    return Timeline(end, streams, resources, machine.steps, events)


def _add(totals: dict[str, int], key: str, amount: int) -> None:
    totals[key] = totals.get(key, 0) + amount
