"""Commands of a host program that was not scheduled yet: `stream.async.*`, by op name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from iree.compiler import ir

from xpu_shark.passes.bridge.host_commands import launch, move
from xpu_shark.passes.bridge.host_devices import Execution, affinity, device_of, devices
from xpu_shark.passes.bridge.host_frame import Frame
from xpu_shark.passes.bridge.locations import source_location
from xpu_shark.simulator.workload import Command, Move

Reader = Callable[[Frame, ir.Operation], tuple[Command, ...]]


def _dispatch(frame: Frame, op: ir.Operation) -> tuple[Command, ...]:
    """Segments: workload, operands (resources and constants mixed), ..."""
    workload, count, *_ = op.attributes["operandSegmentSizes"]
    operands = [op.operands[i] for i in range(workload, workload + count)]
    constants = tuple(
        frame.reader.read(operand)
        for operand in operands
        if not str(operand.type).startswith("!stream.")
    )
    kernel = op.attributes["entry_points"][0].value[-1]
    return (launch(_here(frame, op), op, kernel, constants),)


def _fill(length: int) -> Reader:
    """`length` is the number of the operand that holds the bytes."""

    def read(frame: Frame, op: ir.Operation) -> tuple[Command, ...]:
        size = frame.reader.read(op.operands[length])
        location = source_location(op.location)
        return (Move(kind="fill", bytes=size, location=location, device=device_of(frame, op)),)

    return read


def _copy(length: int) -> Reader:
    def read(frame: Frame, op: ir.Operation) -> tuple[Command, ...]:
        here = device_of(frame, op)
        came = next(iter(devices(affinity(op, "source_affinity"))), here)
        goes = next(iter(devices(affinity(op, "target_affinity"))), here)
        return (move(_here(frame, op), op, op.operands[length], came, goes),)

    return read


def _here(frame: Frame, op: ir.Operation) -> Execution:
    return Execution(frame, device_of(frame, op), {})


ASYNC: Mapping[str, Reader] = {
    "stream.async.dispatch": _dispatch,
    "stream.async.splat": _fill(1),
    "stream.async.fill": _fill(4),
    "stream.async.clone": _copy(2),
    "stream.async.transfer": _copy(2),
    "stream.async.copy": _copy(8),
}
