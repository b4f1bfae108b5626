"""What a rule about communication sees, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

import msgspec

from xpu_shark.passes.advise.case import bound
from xpu_shark.passes.advise.plan import Part, Plan, Simulator, Work
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.blocks import Block, Step
from xpu_shark.simulator.dependences import reachable
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.function_timeline import Task
from xpu_shark.simulator.result import Dispatch, Function
from xpu_shark.simulator.stay import walk
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.touches import Touch
from xpu_shark.simulator.workload import Collective, Launch, Move


@dataclass(frozen=True)
class Reader:
    """A step that reads `bytes` of a collective's result, as its kernel's `tensor` (-1: a copy)."""

    step: int
    tensor: int
    bytes: int


@dataclass(frozen=True)
class NetworkCase:
    """A straight piece of a function in which devices communicate."""

    function: Function
    block: Block
    simulator: Simulator
    analysis: Analysis

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.block.steps

    @property
    def target(self) -> Target:
        return self.analysis.target

    @cached_property
    def before(self) -> list[int]:
        """For each step all that come before it by any chain of waits, as bits by number."""
        return reachable([step.needs for step in self.steps])

    @cached_property
    def collectives(self) -> dict[int, Collective]:
        """Collectives that take time, by step, with their size a number."""
        return {
            number: msgspec.structs.replace(
                step.command, bytes=step.record.payload_bytes, spans=(), location="", device=""
            )
            for number, step in enumerate(self.steps)
            if isinstance(step.command, Collective) and not isinstance(step.record, Dispatch)
            if step.time_ps and step.record.payload_bytes
        }

    def group(self, number: int) -> int:
        """Devices that take part in a collective."""
        record = self.steps[number].record
        return 1 if isinstance(record, Dispatch) else record.group

    def payload(self, number: int) -> int:
        """Bytes of a collective, as `Collective.bytes`."""
        size = self.collectives[number].bytes
        assert isinstance(size, int)
        return size

    def place(self, number: int) -> str:
        """A step by name and place: one dispatch may be launched in several."""
        step = self.steps[number]
        if not isinstance(step.command, Launch) or not step.command.location:
            return step.label
        return f"{step.label} at {step.command.location}"

    def latency_share(self, number: int) -> float:
        """What of a collective's time its bytes at full rate do not explain."""
        record = self.steps[number].record
        least = 0 if isinstance(record, Dispatch) else record.bound_ps or 0
        return 1 - least / max(self.steps[number].time_ps, 1)

    @cached_property
    def works(self) -> list[Work]:
        """Every step as it was simulated."""
        return [self._work(number, step) for number, step in enumerate(self.steps)]

    def _work(self, number: int, step: Step) -> Work:
        level = self.target.memory[0].name
        record, command = step.record, step.command
        if not isinstance(record, Dispatch):
            assert not isinstance(command, Launch)
            size = record.payload_bytes or 0
            item = msgspec.structs.replace(command, bytes=size, spans=(), location="", device="")
            moved = record.bytes.get(level, 0)
            return Work(step.label, step.time_ps, moved, None, item, record.algorithm)
        if record.run is None:  # no work
            return Work(step.label, 0, 0, None, Move(kind="fill", bytes=0))
        kernel = (self.kernel(number), record.run.plan)
        return Work(step.label, step.time_ps, record.run.bytes.get(level, 0), kernel)

    def kernel(self, number: int) -> BoundKernel:
        """A launch's kernel with its sizes."""
        record = self.steps[number].record
        assert isinstance(record, Dispatch)
        return bound(record, self.analysis.simulated, self.analysis)

    @cached_property
    def in_order(self) -> Plan:
        return self._plan(self.block.in_order())

    @cached_property
    def _exposed_ps(self) -> tuple[int, ...]:
        return self.simulator.run(self.in_order).exposed_ps

    def hidden_ps(self, number: int) -> int:
        """What of a collective's time passes behind launches as the program has it."""
        step = self.steps[number]
        return step.time_ps - self._exposed_ps[number] if step.network else 0

    @cached_property
    def as_needed(self) -> Plan:
        return self._plan(self.block.as_needed())

    def _plan(self, tasks: list[Task]) -> Plan:
        return tuple(Part(w, task.needs) for w, task in zip(self.works, tasks, strict=True))

    def result(self, number: int) -> Touch | None:
        """Where a collective writes, if only steps of this block can see it."""
        written = [touch for touch in self.steps[number].touches or () if touch.written]
        if len(written) != 1 or not written[0].transient or written[0].end is None:
            return None
        return None if written[0].buffer in self._seen_elsewhere else written[0]

    @cached_property
    def after(self) -> list[list[int]]:
        """For each step those that wait for it directly."""
        found: list[list[int]] = [[] for _ in self.steps]
        for number, step in enumerate(self.steps):
            for need in step.needs:
                found[need].append(number)
        return found

    @cached_property
    def _seen_elsewhere(self) -> set[int]:
        """Buffers that a command outside this block touches."""
        workload = self.analysis.simulated
        inside = {id(step.command) for step in self.steps}
        bodies = (each.body for each in workload.functions if each.name == self.function.name)
        others = (
            command for body in bodies for _, _, command in walk(body) if id(command) not in inside
        )
        return {span.buffer for command in others for span in command.spans}

    def readers(self, number: int) -> list[Reader] | None:
        """Who reads a collective's result, and how much of it; None where that is not known."""
        result = self.result(number)
        if result is None or not self.after[number]:
            return None
        found: list[Reader] = []
        for user in self.after[number]:
            reads = list(self._reads(user, result))
            if not reads:
                return None
            found += reads
        return found

    def _reads(self, number: int, result: Touch) -> Iterator[Reader]:
        step = self.steps[number]
        if not isinstance(step.command, Launch):
            for touch in step.touches or ():
                if not touch.written and touch.end is not None and touch.overlaps(result):
                    yield Reader(number, -1, touch.end - touch.start)
            return
        for tensor, touch in self._operands(number):
            if touch.overlaps(result):
                kind = self.kernel(number).tensors[tensor]
                yield Reader(number, tensor, storage_bytes(kind.element, prod(kind.shape)))

    def producer(self, number: int) -> tuple[int, int] | None:
        """The one launch that writes all of a collective's input, and as which tensor."""
        inputs = [touch for touch in self.steps[number].touches or () if not touch.written]
        needs = self.steps[number].needs
        if len(inputs) != 1 or len(needs) != 1:
            return None
        record = self.steps[needs[0]].record
        if not isinstance(record, Dispatch) or record.run is None or record.state != "modelled":
            return None
        for touch in self.steps[needs[0]].touches or ():
            same = (touch.buffer, touch.start, touch.end)
            if touch.written and touch.tensor >= 0:
                if same == (inputs[0].buffer, inputs[0].start, inputs[0].end):
                    return needs[0], touch.tensor
        return None

    def transient(self, number: int) -> set[int]:
        """Tensors that a launch reads from buffers which nobody outside sees."""
        return {tensor for tensor, touch in self._operands(number) if touch.transient}

    def _operands(self, number: int) -> Iterator[tuple[int, Touch]]:
        """What a launch reads, with its kernel's tensor: the touches of a launch come in the order
        of its tensors, what is read before what is written."""
        record = self.steps[number].record
        if not isinstance(record, Dispatch) or record.state != "modelled" or record.run is None:
            return
        kernel = self.kernel(number)
        read = {access.tensor for nest in kernel.nests for access in nest.reads}
        tensors = [n for n, tensor in enumerate(kernel.tensors) if tensor.is_global and n in read]
        touched = [touch for touch in self.steps[number].touches or () if not touch.written]
        if len(tensors) == len(touched):
            yield from zip(tensors, touched, strict=True)


@dataclass(frozen=True)
class Change:
    """A change to some steps of a case: what to simulate, before and after.

    `what` are the commands that it is about, `condition` what was found, `suggestion` what to do.
    `confidence` is as in `Proposal`; `steps` are those of the block that the change takes up.
    """

    what: str
    condition: str
    suggestion: str
    confidence: str
    steps: tuple[int, ...]
    before: Plan
    after: Plan
