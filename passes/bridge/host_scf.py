"""Loops that are still structured in the host program."""

from __future__ import annotations

from collections.abc import Container

from iree.compiler import ir

from xpu_shark.passes.bridge.host_frame import Frame
from xpu_shark.passes.bridge.host_program import walk
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import apply


def for_trips(frame: Frame, op: ir.Operation, number: int) -> Size:
    """Turns of an `scf.for`; binds its counter over the number of the turn."""
    lower, upper, step = (frame.reader.read(op.operands[i]) for i in range(3))
    turn = apply("mul", frame.names.iteration(number), step)
    frame.reader.bind(op.regions[0].blocks[0].arguments[0], apply("add", turn, lower))
    return apply("max", 0, apply("ceildiv", apply("sub", upper, lower), step))


def has_any(op: ir.Operation, names: Container[str]) -> bool:
    """Whether some operation inside `op` is one of `names`, other than structure alone."""
    return any(inner.name in names and not inner.name.startswith("scf.") for inner in walk(op))
