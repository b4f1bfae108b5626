"""What stays in the scratchpad between the launches of one program.

A compiler that makes one program of a function launches it once and keeps intermediate results
beside the core while they fit: neither their store nor their loads are in the program. A result
is followed from the launch that writes it to the last one that reads it. It stays if nobody else
sees its buffer, every command between touches all of it or nothing, and everything that stays at
any one time is less than `HELD_SHARE` of the scratchpad.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import inf

import msgspec

from xpu_shark.simulator.bind import Context
from xpu_shark.simulator.residency import HELD_SHARE
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.touches import Touch, touches, value
from xpu_shark.simulator.workload import (
    Choice,
    Collective,
    Command,
    Concurrent,
    Kernel,
    Launch,
    Move,
    Repeat,
)

Place = tuple[int, float]  # first byte of a buffer, and the one behind the last
Path = tuple[int, ...]  # position in a body, then in the body or arm inside


class Step(msgspec.Struct, frozen=True):
    """One command in program order; `touches` is None where it may touch anything. `block` is
    the loop body or branch arm that it is in; `sure` where that is run."""

    path: Path
    block: Path
    touches: tuple[Touch, ...] | None
    sure: bool = True


class Value(msgspec.Struct, frozen=True):
    """A result that can stay: bytes, and (step, tensor) of its producer and of every reader."""

    bytes: int
    uses: tuple[tuple[int, int], ...]


def contexts(
    body: tuple[Command, ...],
    kernels: Mapping[str, Kernel],
    env: Mapping[str, int],
    target: Target,
) -> dict[Path, Context]:
    """The context of every launch of a function whose program is one, by where it stands."""
    steps = list(_steps(body, kernels, env))
    budget = int(HELD_SHARE * target.memory[-1].bytes)
    held = [0] * len(steps)
    resident: list[list[int]] = [[] for _ in steps]
    for result in _values(steps):
        first, last = result.uses[0][0], result.uses[-1][0]
        if max(held[first : last + 1]) + result.bytes >= budget:
            continue
        for number in range(first, last + 1):
            held[number] += result.bytes
        for number, tensor in result.uses:
            resident[number].append(tensor)
    return {
        step.path: Context(tuple(sorted(set(inside))), taken, running=True)
        for step, inside, taken in zip(steps, resident, held, strict=True)
    }


def _steps(
    body: tuple[Command, ...], kernels: Mapping[str, Kernel], env: Mapping[str, int]
) -> Iterator[Step]:
    optional = set(_optional(body, env))
    for path, block, command in walk(body):
        sure = not any(path[:length] in optional for length in range(1, len(path)))
        yield Step(path, block, touches(command, kernels, env), sure)


def _optional(body: tuple[Command, ...], env: Mapping[str, int], path: Path = ()) -> Iterator[Path]:
    """Branch arms, and loops that may not turn."""
    for number, command in enumerate(body):
        here = (*path, number)
        if isinstance(command, Repeat):
            if not value(command.trips, env):
                yield here
            yield from _optional(command.body, env, here)
        elif isinstance(command, Concurrent):
            yield from _optional(command.body, env, here)
        elif isinstance(command, Choice):
            yield from ((*here, arm) for arm in range(len(command.arms)))


def walk(
    body: tuple[Command, ...], path: Path = (), block: Path = ()
) -> Iterator[tuple[Path, Path, Launch | Move | Collective]]:
    """(place, block, command) in program order, every arm of a branch included. Concurrent
    commands stand as if one after the other."""
    for number, command in enumerate(body):
        here = (*path, number)
        if isinstance(command, Repeat):
            yield from walk(command.body, here, here)
        elif isinstance(command, Concurrent):
            yield from walk(command.body, here, block)
        elif isinstance(command, Choice):
            for arm, inner in enumerate(command.arms):
                yield from walk(inner, (*here, arm), (*here, arm))
        else:
            yield here, block, command


def _values(steps: Sequence[Step]) -> Iterator[Value]:
    index = _Index(steps)
    for number, step in enumerate(steps):
        for touch in step.touches or ():
            if touch.written and touch.transient and touch.tensor >= 0 and touch.end is not None:
                found = _follow(steps, index, number, touch)
                if found is not None:
                    yield found


class _Index:
    """Which steps touch what: a result is followed from one of them to the next, however many
    commands and places lie between."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._unknown = [number for number, step in enumerate(steps) if step.touches is None]
        self._near: dict[tuple[int, int, float], list[int]] = {}
        found: dict[int, dict[Place, list[int]]] = {}
        for number, step in enumerate(steps):
            for touch in step.touches or ():
                places = found.setdefault(touch.buffer, {})
                places.setdefault(_place(touch), []).append(number)
        self._buffers = {buffer: _Buffer(places) for buffer, places in found.items()}

    def after(self, step: int, result: Touch) -> Iterator[int]:
        """Steps behind `step` that touch any of `result`, or nobody knows what, in order."""
        place = (result.buffer, *_place(result))
        if place not in self._near:
            numbers = self._buffers[result.buffer].touching(*_place(result))
            self._near[place] = sorted({*self._unknown, *numbers})
        near = self._near[place]
        return iter(near[bisect_right(near, step) :])


class _Buffer:
    """Steps by the place in one buffer that they touch, by where that starts."""

    def __init__(self, places: Mapping[Place, list[int]]) -> None:
        self._places = sorted(places)
        self._steps = [places[place] for place in self._places]
        self._starts = [start for start, _ in self._places]
        # No place before one ends behind the largest end so far, which only grows.
        self._ends = list(accumulate((end for _, end in self._places), max))

    def touching(self, start: int, end: float) -> Iterator[int]:
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        for number in range(first, last):
            if self._places[number][1] > start:
                yield from self._steps[number]


def _place(touch: Touch) -> Place:
    return touch.start, inf if touch.end is None else touch.end


def _follow(steps: Sequence[Step], index: _Index, producer: int, result: Touch) -> Value | None:
    """The result's readers until it is overwritten; None where some of it goes elsewhere."""
    uses = [(producer, result.tensor)]
    for number in index.after(producer, result):
        step = steps[number]
        if step.touches is None:
            return None
        touched = [touch for touch in step.touches if touch.overlaps(result)]
        if step.block != steps[producer].block:
            if step.sure and all(touch.written for touch in touched):
                break  # as in the next turn of a loop
            return None
        if any(not touch.equals(result) for touch in touched if not touch.written):
            return None
        uses += [(number, touch.tensor) for touch in touched if not touch.written]
        if any(touch.written for touch in touched):
            break
    assert result.end is not None
    return Value(result.end - result.start, tuple(uses)) if len(uses) > 1 else None
