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

from xpu_shark.simulator.bind import Context, missing
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.symbolic import Expr, UnboundError, evaluate
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.workload import (
    Choice,
    Collective,
    Command,
    Concurrent,
    Kernel,
    Launch,
    Move,
    Repeat,
    Tensor,
)

HELD_SHARE = 0.5  # of the scratchpad: results that stay take less, so that operands can pass
Path = tuple[int, ...]  # position in a body, then in the body or arm inside


class Touch(msgspec.Struct, frozen=True):
    """Bytes [start, end) of a buffer that a command reads or writes; `tensor` is the kernel's, -1
    where it is not one whole tensor. With no end nobody knows where it ends."""

    buffer: int
    start: int
    end: int | None
    written: bool
    tensor: int = -1
    transient: bool = False

    def overlaps(self, other: Touch) -> bool:
        if self.buffer != other.buffer:
            return False
        begins = other.end is None or self.start < other.end
        return begins and (self.end is None or other.start < self.end)

    def equals(self, other: Touch) -> bool:
        return self.tensor >= 0 and (self.start, self.end) == (other.start, other.end)


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
        yield Step(path, block, _touches(command, kernels, env))


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


def _touches(
    command: Launch | Move | Collective, kernels: Mapping[str, Kernel], env: Mapping[str, int]
) -> tuple[Touch, ...] | None:
    if not command.spans:
        return None
    if isinstance(command, Launch):
        kernel = kernels.get(command.kernel)
        if kernel is not None and kernel.state == "modelled":
            return _operands(command, kernel, env)
    whole = []
    for span in command.spans:
        start, length = _value(span.offset, env), _value(span.bytes, env)
        end = None if start is None or length is None else start + length
        for written in (False, True):
            if span.access in ("both", "write" if written else "read"):
                whole.append(Touch(span.buffer, start or 0, end, written))
    return tuple(whole)


def _operands(launch: Launch, kernel: Kernel, env: Mapping[str, int]) -> tuple[Touch, ...] | None:
    """What each tensor of the kernel is in the buffers of the host program."""
    known = dict(env)
    for number, constant in enumerate(launch.constants):
        value = _value(constant, env)
        if value is not None:
            known[f"constant{number}"] = value
    if missing(kernel, known):
        return None
    found: list[Touch] = []
    for number, tensor in enumerate(kernel.tensors):
        if tensor.storage != "global":
            continue
        if tensor.place is None or tensor.place.binding >= len(launch.spans):
            return None
        for written in (False, True):
            accesses = (a for n in kernel.nests for a in (n.writes if written else n.reads))
            if any(access.tensor == number for access in accesses):
                found.append(_operand(launch, number, tensor, known, written=written))
    return tuple(found)


def _operand(
    launch: Launch, number: int, tensor: Tensor, env: Mapping[str, int], *, written: bool
) -> Touch:
    assert tensor.place is not None
    span = launch.spans[tensor.place.binding]
    base = _value(span.offset, env)
    inside = None if tensor.place.offset is None else _value(tensor.place.offset, env)
    if base is None or inside is None:
        length = _value(span.bytes, env)
        end = None if base is None or length is None else base + length
        return Touch(span.buffer, base or 0, end, written)
    count = 1
    for size in tensor.shape:
        count *= evaluate(size, env)
    start = base + inside
    end = start + storage_bytes(tensor.element, count)
    return Touch(span.buffer, start, end, written, number, span.transient)


def _value(size: int | Expr, env: Mapping[str, int]) -> int | None:
    try:
        return evaluate(size, env)
    except UnboundError:
        return None
