"""The commands of a function in the order in which they run, and what keeps two of them apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf

from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator.stay import Path
from xpu_shark.simulator.touches import Touch, touches, value
from xpu_shark.simulator.workload import (
    Choice,
    Collective,
    Command,
    Concurrent,
    Function,
    Kernel,
    Launch,
    Move,
    Repeat,
)

Place = tuple[int, float, float]  # a buffer, its first byte and the one behind the last


@dataclass(frozen=True)
class Step:
    """One command. `block` is the loop body or branch arm that it stands in, `loop` the innermost
    loop around. `touches` is None where it may touch anything. `turns` is how often it runs in a
    call, with loops of unknown trips turning once."""

    command: Launch | Move | Collective
    block: Path
    loop: Path | None
    touches: tuple[Touch, ...] | None
    turns: int = 1

    def inside(self, loop: Path | None) -> bool:
        """Whether it is in that loop."""
        return loop is not None and self.block[: len(loop)] == loop

    @property
    def crosses(self) -> bool:
        """Whether it waits for another device."""
        command = self.command
        return isinstance(command, Collective) or (
            isinstance(command, Move) and command.kind == "transfer"
        )


@dataclass(frozen=True)
class Uses:
    """The launches in the same block that read what a step writes, by number, and whether `others`
    may see it: outside the function, in another block, in a later turn, or by a copy."""

    readers: tuple[int, ...]
    others: bool


@dataclass(frozen=True)
class Sequence:
    """Steps in program order: of a branch the arm that is simulated, of loops those that turn."""

    function: Function
    kernels: Mapping[str, Kernel]
    dims: Mapping[str, int]

    @cached_property
    def env(self) -> Mapping[str, int]:
        """Sizes by the function's own names for them too."""
        prefix = f"{self.function.name}."
        return {**self.dims, **{n.removeprefix(prefix): size for n, size in self.dims.items()}}

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self._steps(self.function.body, (), (), None, 1))

    def _steps(
        self,
        body: tuple[Command, ...],
        path: Path,
        block: Path,
        loop: Path | None,
        turns: int,
    ) -> Iterator[Step]:
        env = self.env
        for number, command in enumerate(body):
            here = (*path, number)
            if isinstance(command, Repeat):
                trips = value(command.trips, env)
                trips = env.get(command.name, 1) if trips is None else trips
                if trips:
                    yield from self._steps(command.body, here, here, here, turns * trips)
            elif isinstance(command, Concurrent):
                yield from self._steps(command.body, here, block, loop, turns)
            elif isinstance(command, Choice):
                arm = (*here, command.taken(env))
                yield from self._steps(command.arms[arm[-1]], arm, arm, loop, turns)
            else:
                yield Step(command, block, loop, touches(command, self.kernels, env), turns)

    def joinable(self, first: int, second: int) -> bool:
        """Whether two steps of one block, `first` before `second`, could be one: nothing between
        has to run after the one and before the other, and none of it waits for a device."""
        steps = self.steps
        if steps[first].block != steps[second].block:
            return False
        behind = [first]  # what has to run after `first`
        for number in range(first + 1, second):
            if steps[number].crosses:
                return False
            if any(_ordered(steps[other], steps[number]) for other in behind):
                behind.append(number)
        return not any(_ordered(steps[number], steps[second]) for number in behind[1:])

    def passes(self, first: int, second: int) -> bool:
        """Whether `second` reads what the earlier step `first` writes."""
        made, read = self.steps[first], self.steps[second]
        written = [touch for touch in made.touches or () if touch.written]
        reads = [touch for touch in read.touches or () if not touch.written]
        meet = any(one.overlaps(other) for one in written for other in reads)
        return meet and second in self.uses(first).readers

    def uses(self, number: int) -> Uses:
        """Who reads what the step writes, as far as the spans tell."""
        step = self.steps[number]
        written = [touch for touch in step.touches or () if touch.written]
        others = not written or not all(touch.transient for touch in written)
        live = turn = _Live([_place(touch) for touch in written])
        readers: list[int] = []
        for later in range(number + 1, len(self.steps)):
            if not live.places:
                break
            other = self.steps[later]
            if live.read_by(other):
                mine = other.block == step.block and isinstance(other.command, Launch)
                if mine and other.touches is not None:
                    readers.append(later)
                else:
                    others = True
            live = live.after(other, step.block)
            if other.inside(step.loop):
                turn = live
        return Uses(tuple(readers), others or self._next_turn_reads(number, turn))

    def read_later(self, number: int) -> bool:
        """Whether anybody reads what a copy copies after it, as far as to where that is written."""
        source = _Live([_place(t) for t in self.steps[number].touches or () if not t.written])
        for later in self.steps[number + 1 :]:
            if source.read_by(later):
                return True
            source = source.after(later, self.steps[number].block)
        return False

    def source_changes(self, number: int, last: int) -> bool:
        """Whether what a copy copies is written again before step `last` is done."""
        source = [t for t in self.steps[number].touches or () if not t.written]
        return any(
            touch.written and any(touch.overlaps(other) for other in source)
            for step in self.steps[number + 1 : last + 1]
            for touch in step.touches or ()
        )

    def _next_turn_reads(self, number: int, live: _Live) -> bool:
        """Whether the next turn of the loop around the step reads any of `live` before it is
        written again."""
        step = self.steps[number]
        for other in self.steps[:number] if step.loop is not None else ():
            if other.inside(step.loop):
                if live.read_by(other):
                    return True
                live = live.after(other, step.block)
        return False


def sequence(name: str, analysis: Analysis) -> Sequence:
    """That of a function of the report."""
    workload = analysis.simulated
    function = next(each for each in workload.functions if each.name == name)
    return Sequence(function, {each.name: each for each in workload.kernels}, analysis.dims)


def _ordered(one: Step, other: Step) -> bool:
    """Whether two steps have to keep their order: one writes what the other touches."""
    if one.touches is None or other.touches is None:
        return True
    return any(a.overlaps(b) for a in one.touches for b in other.touches if a.written or b.written)


def _place(touch: Touch) -> Place:
    return touch.buffer, touch.start, inf if touch.end is None else touch.end


@dataclass(frozen=True)
class _Live:
    """Bytes that still hold what a step wrote; `spent` counts those written over since at places
    that are not known."""

    places: list[Place]
    spent: int = 0

    def read_by(self, step: Step) -> bool:
        if step.touches is None:
            return bool(self.places)
        return any(
            not touch.written and _meets(place, _place(touch))
            for touch in step.touches
            for place in self.places
        )

    def after(self, step: Step, block: Path) -> _Live:
        """What is left behind the step, which is certain to run only where its own block has
        `block` in it."""
        if step.block != block[: len(step.block)]:
            return self
        places, spent = self.places, self.spent
        for touch in step.touches or ():
            if touch.written and touch.exact:
                places = [left for place in places for left in _cut(place, _place(touch))]
            elif touch.written and any(_within(_place(touch), place) for place in places):
                spent += touch.size
        if spent >= sum(end - start for _, start, end in places):
            return _Live([])
        return _Live(places, spent)


def _meets(one: Place, other: Place) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]


def _within(one: Place, other: Place) -> bool:
    return one[0] == other[0] and other[1] <= one[1] and one[2] <= other[2]


def _cut(place: Place, away: Place) -> Iterator[Place]:
    """The parts of `place` before and behind `away`."""
    if not _meets(place, away):
        yield place
        return
    buffer, start, end = place
    if start < away[1]:
        yield buffer, start, away[1]
    if away[2] < end:
        yield buffer, away[2], end
