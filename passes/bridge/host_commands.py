"""Commands inside the host program's execution regions: one reader an op name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec
from iree.compiler import ir

from xpu_shark.passes.bridge.host_buffers import collective_spans, dispatch_spans, span
from xpu_shark.passes.bridge.host_channels import groups
from xpu_shark.passes.bridge.host_devices import (
    Execution,
    Place,
    affinity,
    device_of,
    devices,
    route,
)
from xpu_shark.passes.bridge.host_frame import Frame
from xpu_shark.passes.bridge.host_permutation import Mismatch, Pairs, partners
from xpu_shark.passes.bridge.locations import source_location
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import apply
from xpu_shark.simulator.workload import (
    Collective,
    Command,
    Concurrent,
    Launch,
    Move,
    Repeat,
    Span,
)

Commands = tuple[Command, ...]
Reader = Callable[[Execution, ir.Operation], Commands]
_COLLECTIVE = re.compile(r"<(\w+)(?: with (\w+))? : (\w+)>")


def read_execution(frame: Frame, op: ir.Operation) -> Commands:
    """Commands of a `stream.cmd.execute`, in order."""
    block = op.regions[0].blocks[0]
    operands = dict(zip(block.arguments, _outside(op, len(block.arguments)), strict=True))
    execution = Execution(frame, device_of(frame, op), operands)
    _find_markers(execution, block)
    return _read_block(execution, block)


def _outside(op: ir.Operation, count: int) -> list[ir.Value]:
    return [op.operands[i] for i in range(count)]


def _find_markers(execution: Execution, block: ir.Block) -> None:
    for view in block.operations:
        op = view.operation
        if op.name in _MARKERS and (other := devices(affinity(op, "source_affinity"))):
            if other[0] != execution.device:
                table = execution.outgoing if op.name in _FLUSHES else execution.incoming
                table[op.operands[0], op.operands[2]] = other[0]
        for region in op.regions:
            for inner in region.blocks:
                _find_markers(execution, inner)


def _read_block(execution: Execution, block: ir.Block) -> Commands:
    commands: list[Command] = []
    for view in block.operations:
        op = view.operation
        if reader := COMMANDS.get(op.name):
            commands.extend(reader(execution, op))
    return tuple(commands)


def _serial(execution: Execution, op: ir.Operation) -> Commands:
    return _read_block(execution, op.regions[0].blocks[0])


def _concurrent(execution: Execution, op: ir.Operation) -> Commands:
    """A sequence among concurrent commands is a loop of one turn: it keeps its order."""
    arms: list[Command] = []
    for view in op.regions[0].blocks[0].operations:
        inner = view.operation
        commands = COMMANDS[inner.name](execution, inner) if inner.name in COMMANDS else ()
        arms.extend([Repeat(trips=1, body=commands)] if len(commands) > 1 else commands)
    return (Concurrent(body=tuple(arms)),) if len(arms) > 1 else tuple(arms)


def _dispatch(execution: Execution, op: ir.Operation) -> Commands:
    """Segments: workload, uniform operands, resources, ..."""
    workload, uniform, *_ = op.attributes["operandSegmentSizes"]
    read = execution.frame.reader.read
    constants = tuple(read(op.operands[i]) for i in range(workload, workload + uniform))
    # One entry point for each HAL target; the export has the same name in all.
    kernel = op.attributes["entry_points"][0].value[-1]
    return (launch(execution, op, kernel, constants, dispatch_spans(execution, op)),)


def launch(
    execution: Execution,
    op: ir.Operation,
    kernel: str,
    constants: tuple[Size, ...] = (),
    spans: tuple[Span, ...] = (),
) -> Launch:
    """A launch of `kernel` by `op`."""
    return Launch(
        kernel=kernel,
        constants=constants,
        spans=spans,
        location=source_location(op.location),
        device=execution.device,
    )


def _call(execution: Execution, op: ir.Operation) -> Commands:
    """A function outside the module that records commands of its own."""
    return (launch(execution, op, op.attributes["callee"].value),)


def _fill(execution: Execution, op: ir.Operation) -> Commands:
    return (
        Move(
            kind="fill",
            bytes=execution.frame.reader.read(op.operands[3]),
            spans=(span(execution, (op.operands[0], op.operands[2]), op.operands[3], "write"),),
            location=source_location(op.location),
            device=execution.device,
        ),
    )


def _copy(execution: Execution, op: ir.Operation) -> Commands:
    """Operands: source, its size, offset; target, its size, offset; length."""
    source, _, read_at, target, _, write_at, length = op.operands
    came, goes = route(execution, (source, read_at), (target, write_at))
    copied = move(execution, op, length, came, goes)
    spans = (
        span(execution, (source, read_at), length, "read"),
        span(execution, (target, write_at), length, "write"),
    )
    return (msgspec.structs.replace(copied, spans=spans),)


def move(execution: Execution, op: ir.Operation, length: ir.Value, came: str, goes: str) -> Move:
    """A copy of `length` bytes on one device, or a transfer from `came` to `goes`."""
    crosses = came != goes
    return Move(
        kind="transfer" if crosses else "copy",
        bytes=execution.frame.reader.read(length),
        location=source_location(op.location),
        device=goes,
        source=came if crosses else "",
    )


def _marker(execution: Execution, op: ir.Operation) -> Commands:
    """Cache maintenance costs nothing, unless another device gets at the bytes only by it."""
    place = (op.operands[0], op.operands[2])
    outgoing = op.name in _FLUSHES
    other = (execution.outgoing if outgoing else execution.incoming).get(place)
    if other is None or _is_copied(op, place):
        return ()
    ends = (execution.device, other) if outgoing else (other, execution.device)
    return (move(execution, op, op.operands[3], *ends),)


def _is_copied(op: ir.Operation, place: Place) -> bool:
    """Whether a copy beside the marker reads or writes its place."""
    copies = (view.operation for view in op.block.operations)
    return any(
        copy.name == "stream.cmd.copy"
        and place in ((copy.operands[0], copy.operands[2]), (copy.operands[3], copy.operands[5]))
        for copy in copies
    )


def _collective(execution: Execution, op: ir.Operation) -> Commands:
    """Segments: channel, element count, parameter, resources, sizes, offsets, lengths."""
    *_, lengths = op.attributes["operandSegmentSizes"]
    operands = list(op.operands)
    size, *others = map(execution.frame.reader.read, operands[len(operands) - lengths :])
    for other in others:
        size = size if other == size else apply("max", size, other)
    match = _COLLECTIVE.search(str(op.attributes["op"]))
    kind, reduction, element = match.groups() if match else ("unknown", "", "")
    members = groups(execution.frame, operands[0])
    group = max(map(len, members), default=0)
    pairs, problem = _partners(execution, op, group) if kind == "send_recv" else ((), "")
    return (
        Collective(
            kind=kind,
            reduction=reduction or "",
            element=element,
            bytes=size,
            group=group,
            groups=members,
            pairs=pairs,
            problem=problem,
            spans=collective_spans(execution, op, ("read", "write") if others else ("both",)),
            location=source_location(op.location),
            device=execution.device,
        ),
    )


def _partners(execution: Execution, op: ir.Operation, group: int) -> tuple[Pairs, str]:
    """Who sends to whom, and what is wrong with it."""
    try:
        return partners(execution.frame, op, group), ""
    except Mismatch as error:
        return (), str(error)


_FLUSHES = ("stream.cmd.flush",)
_MARKERS = ("stream.cmd.flush", "stream.cmd.invalidate")
COMMANDS: Mapping[str, Reader] = {
    "stream.cmd.dispatch": _dispatch,
    "stream.cmd.call": _call,
    "stream.cmd.fill": _fill,
    "stream.cmd.copy": _copy,
    "stream.cmd.collective": _collective,
    "stream.cmd.flush": _marker,
    "stream.cmd.invalidate": _marker,
    "stream.cmd.serial": _serial,
    "stream.cmd.concurrent": _concurrent,
}
