"""What stays in the scratchpad between the launches of one program.

A compiler that makes one program of a function launches it once and keeps intermediate results
beside the core while they fit: neither their store nor their loads are in the program. A result
is followed from the launch that writes it to the last one that reads it. It stays if nobody else
sees its buffer, every command between touches all of it or nothing, and everything that stays at
any one time is less than `HELD_SHARE` of the scratchpad.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from xpu_shark.simulator.bind import Context
from xpu_shark.simulator.residency import HELD_SHARE
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.touches import Touch, touches
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

Path = tuple[int, ...]  # position in a body, then in the body or arm inside


class Step(msgspec.Struct, frozen=True):
    """One command in program order; `touches` is None where it may touch anything. `block` is
    the loop body or branch arm that it is in."""

    path: Path
    block: Path
    touches: tuple[Touch, ...] | None


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
    for value in _values(steps):
        first, last = value.uses[0][0], value.uses[-1][0]
        if max(held[first : last + 1]) + value.bytes >= budget:
            continue
        for number in range(first, last + 1):
            held[number] += value.bytes
        for number, tensor in value.uses:
            resident[number].append(tensor)
    return {
        step.path: Context(tuple(sorted(set(inside))), taken, running=True)
        for step, inside, taken in zip(steps, resident, held, strict=True)
    }


def _steps(
    body: tuple[Command, ...], kernels: Mapping[str, Kernel], env: Mapping[str, int]
) -> Iterator[Step]:
    for path, block, command in walk(body):
        yield Step(path, block, touches(command, kernels, env))


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
    for number, step in enumerate(steps):
        for touch in step.touches or ():
            if touch.written and touch.transient and touch.tensor >= 0 and touch.end is not None:
                value = _follow(steps, number, touch)
                if value is not None:
                    yield value


def _follow(steps: Sequence[Step], producer: int, result: Touch) -> Value | None:
    """The result's readers until it is overwritten; None where some of it goes elsewhere."""
    uses = [(producer, result.tensor)]
    for number in range(producer + 1, len(steps)):
        step = steps[number]
        if step.touches is None:
            return None
        touched = [touch for touch in step.touches if touch.overlaps(result)]
        if touched and step.block != steps[producer].block:
            return None
        if any(not touch.equals(result) for touch in touched if not touch.written):
            return None
        uses += [(number, touch.tensor) for touch in touched if not touch.written]
        if any(touch.written for touch in touched):
            break
    assert result.end is not None
    return Value(result.end - result.start, tuple(uses)) if len(uses) > 1 else None
