"""Which launches of a function read whose results, and what they read together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xpu_shark.passes.advise import sequence
from xpu_shark.passes.advise.case import bound
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.dependences import reachable
from xpu_shark.simulator.result import Dispatch
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.touches import Touch
from xpu_shark.simulator.workload import Function, Launch

Place = tuple[int, int]  # a step, and a tensor of its kernel


@dataclass(frozen=True)
class Step(sequence.Step):
    """One command in program order. `dispatch` is what a launch was simulated as, None for
    anything else and where a size or a model is missing. `kernel` has its sizes bound."""

    dispatch: Dispatch | None = None
    kernel: BoundKernel | None = None

    @property
    def run(self) -> KernelRun:
        """Of a launch that was simulated."""
        assert self.dispatch is not None
        assert self.dispatch.run is not None
        return self.dispatch.run


@dataclass(frozen=True)
class Reading:
    """A read of all of a tensor of a launch; `version` is the last step that wrote any of it, -1
    where it came from outside, and `maker` that step's tensor where it wrote exactly this."""

    place: Place
    touch: Touch
    version: int
    maker: Place | None


@dataclass(frozen=True)
class Change:
    """Launches (`steps`, by number) that the kernels `after` do the work of; each stands
    for one launch. `condition`, `suggestion` and `confidence` as in `case.Proposal`."""

    steps: tuple[int, ...]
    after: tuple[BoundKernel, ...]
    condition: str
    suggestion: str
    confidence: str = "high"


@dataclass
class Dataflow:
    """The steps of one function and the tensors that pass between them.

    It is empty where a command may touch anything."""

    steps: tuple[Step, ...]
    readings: list[Reading] = field(default_factory=list)
    needs: list[set[int]] = field(default_factory=list)  # steps whose results a step reads
    unclear: set[int] = field(default_factory=set)  # steps of which something reads a part

    def __post_init__(self) -> None:
        written: dict[int, list[tuple[int, Touch]]] = {}
        for number, step in enumerate(self.steps):
            self.needs.append(set())
            for touch in step.touches or ():
                if not touch.written:
                    self._read(number, touch, written.get(touch.buffer, []))
            for touch in step.touches or ():
                if touch.written:
                    written.setdefault(touch.buffer, []).append((number, touch))

    def _read(self, number: int, touch: Touch, written: Sequence[tuple[int, Touch]]) -> None:
        found = []
        for writer, other in reversed(written):
            if touch.overlaps(other):
                found.append((writer, other))
                if touch.equals(other) and other.exact:
                    break
        self.needs[number] |= {writer for writer, _ in found}
        exact = len(found) == 1 and touch.equals(found[0][1]) and found[0][1].exact
        if found and not exact:
            self.unclear |= {writer for writer, _ in found}
        if touch.tensor >= 0 and touch.exact and self.steps[number].kernel is not None:
            maker = (found[0][0], found[0][1].tensor) if exact else None
            version = found[0][0] if found else -1
            self.readings.append(Reading((number, touch.tensor), touch, version, maker))

    @cached_property
    def before(self) -> list[int]:
        """For each step all that come before it by any chain of results, as bits by number."""
        return reachable([sorted(each) for each in self.needs])

    @cached_property
    def readers(self) -> dict[Place, list[Place]]:
        """Who reads all of what a launch makes, in program order."""
        found: dict[Place, list[Place]] = {}
        for reading in self.readings:
            if reading.maker is not None:
                found.setdefault(reading.maker, []).append(reading.place)
        return found

    def together(self) -> Iterator[list[Place]]:
        """Launches of one straight piece on one device that read the same data, two or more."""
        found: dict[object, list[Place]] = {}
        for each in self.readings:
            touch, step = each.touch, self.steps[each.place[0]]
            place = (step.block, step.command.device)
            key = (*place, touch.buffer, touch.start, touch.end, each.version)
            found.setdefault(key, []).append(each.place)
        yield from (each for each in found.values() if len(each) > 1)

    def convex(self, steps: Sequence[int]) -> bool:
        """Whether no other step has to run between these: they could be one."""
        bits = sum(1 << step for step in steps)
        return not any(
            self.before[number] & bits and any(self.before[step] >> number & 1 for step in steps)
            for number in range(min(steps), max(steps))
            if not bits >> number & 1
        )

    def private(self, place: Place) -> bool:
        """Whether nobody but its known readers, on the same device, sees what a launch makes: then
        it need not be in memory. In a loop the next turn might."""
        number, tensor = place
        step = self.steps[number]
        made = [t for t in step.touches or () if t.written and t.tensor == tensor]
        return (
            len(made) == 1
            and made[0].transient
            and not step.block
            and number not in self.unclear
            and all(
                not self.steps[reader].block
                and self.steps[reader].command.device == step.command.device
                for reader, _ in self.readers.get(place, ())
            )
        )


def dataflow(function: Function, dispatches: Sequence[Dispatch], analysis: Analysis) -> Dataflow:
    """That of `function`, whose `dispatches` were simulated."""
    kernels = {kernel.name: kernel for kernel in analysis.simulated.kernels}
    steps = []
    known: dict[int, BoundKernel] = {}
    for step in sequence.Sequence(function, kernels, analysis.dims).steps:
        if step.touches is None:
            return Dataflow(())
        command = step.command
        dispatch = _launched(command, dispatches) if isinstance(command, Launch) else None
        if dispatch is not None and id(dispatch) not in known:
            known[id(dispatch)] = bound(dispatch, analysis.simulated, analysis)
        kernel = None if dispatch is None else known[id(dispatch)]
        steps.append(
            Step(command, step.block, step.loop, step.touches, step.turns, dispatch, kernel)
        )
    return Dataflow(tuple(steps))


def _launched(launch: Launch, dispatches: Sequence[Dispatch]) -> Dispatch | None:
    """What the launch was simulated as; of several at its place, which differ in what is in the
    scratchpad, the fastest, so that no gain is made up."""
    named = [d for d in dispatches if d.name == launch.kernel]
    here = [d for d in named if launch.location in d.locations] or named
    if len({d.constants for d in here}) != 1 or any(d.state != "modelled" for d in here):
        return None
    return min(
        (d for d in here if d.run), key=lambda d: d.run.time_ps if d.run else 0, default=None
    )
