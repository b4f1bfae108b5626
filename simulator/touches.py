"""Which bytes of the host program's buffers a command reads and writes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from xpu_shark.simulator.bind import missing
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.symbolic import Expr, UnboundError, evaluate
from xpu_shark.simulator.workload import Collective, Kernel, Launch, Move, Tensor


class Touch(msgspec.Struct, frozen=True):
    """Bytes [start, end) of a buffer that a command reads or writes; `tensor` is the kernel's, -1
    where it is not one whole tensor. With no end nobody knows where it ends; where it is not
    `exact` only some of these bytes may be touched, `size` of them at least."""

    buffer: int
    start: int
    end: int | None
    written: bool
    tensor: int = -1
    transient: bool = False
    exact: bool = True
    size: int = 0

    def overlaps(self, other: Touch) -> bool:
        if self.buffer != other.buffer:
            return False
        begins = other.end is None or self.start < other.end
        return begins and (self.end is None or other.start < self.end)

    def contains(self, other: Touch) -> bool:
        if self.buffer != other.buffer or self.start > other.start:
            return False
        return self.end is None or (other.end is not None and other.end <= self.end)

    def equals(self, other: Touch) -> bool:
        return self.tensor >= 0 and (self.start, self.end) == (other.start, other.end)


def touches(
    command: Launch | Move | Collective, kernels: Mapping[str, Kernel], env: Mapping[str, int]
) -> tuple[Touch, ...] | None:
    """What the command reads and writes; None where it may touch anything."""
    if not command.spans:
        return None
    if isinstance(command, Launch):
        kernel = kernels.get(command.kernel)
        if kernel is not None and kernel.state == "modelled":
            operands = _operands(command, kernel, env)
            if operands is not None:
                return operands
    whole = []
    for span in command.spans:
        start, length = value(span.offset, env), value(span.bytes, env)
        end = None if start is None or length is None else start + length
        for written in (False, True):
            if span.access in ("both", "write" if written else "read"):
                exact = not isinstance(command, Launch) and end is not None
                found = Touch(span.buffer, start or 0, end, written, -1, span.transient, exact)
                whole.append(found)
    return tuple(whole)


def _operands(launch: Launch, kernel: Kernel, env: Mapping[str, int]) -> tuple[Touch, ...] | None:
    """What each tensor of the kernel is in the buffers of the host program; None where that is
    not known."""
    known = dict(env)
    for number, constant in enumerate(launch.constants):
        if (known_value := value(constant, env)) is not None:
            known[f"constant{number}"] = known_value
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
    place, span = tensor.place, launch.spans[tensor.place.binding]
    base = value(span.offset, env)
    count = 1
    for size in tensor.shape:
        count *= evaluate(size, env)
    taken = storage_bytes(tensor.element, count)
    inside = None if place.offset is None else value(place.offset, env)
    if base is not None and inside is not None:
        start = base + inside
        return Touch(span.buffer, start, start + taken, written, number, span.transient)
    first, array = value(place.start, env), value(place.array, env)
    if base is not None and place.offset is None and first is not None and array:
        base += first
        end: int | None = base + storage_bytes(tensor.element, array)
    else:
        length = value(span.bytes, env)
        end = None if base is None or length is None else base + length
    return Touch(span.buffer, base or 0, end, written, -1, span.transient, exact=False, size=taken)


def value(size: int | Expr, env: Mapping[str, int]) -> int | None:
    """None where the size depends on something unknown."""
    try:
        return evaluate(size, env)
    except UnboundError:
        return None
