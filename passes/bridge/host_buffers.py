"""Which buffer of the host program a command touches, and which bytes of it.

Every allocation, import and global is a buffer, numbered in order of first use. What is handed on
unchanged, through awaits, barriers, subviews and inlined calls, stays the same buffer: a barrier
keeps the compiler from fusing what is on its two sides and copies nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from iree.compiler import ir

from xpu_shark.passes.bridge.host_devices import Execution
from xpu_shark.passes.bridge.host_frame import Frame
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import apply
from xpu_shark.simulator.workload import Span

Way = Literal["read", "write", "both"]
_WAYS: dict[int, Way] = {1: "read", 2: "write", 3: "both"}  # bits of stream.cmd.dispatch

# Ops that give each operand back as the result of its number, the same bytes.
_PASSING = ("stream.timepoint.await", "util.optimization_barrier")
_HANDING_ON = ("cf.br", "cf.cond_br", "scf.yield", "scf.condition", "scf.for", "scf.while")


def dispatch_spans(execution: Execution, op: ir.Operation) -> tuple[Span, ...]:
    """What a `stream.cmd.dispatch` binds: resources, their sizes, offsets and lengths."""
    workload, uniform, *_ = op.attributes["operandSegmentSizes"]
    ways = [_WAYS[int(access) & 3] for access in op.attributes["resource_accesses"]]
    return _bound(execution, op, workload + uniform, ways)


def collective_spans(
    execution: Execution, op: ir.Operation, ways: Sequence[Way]
) -> tuple[Span, ...]:
    """What a `stream.cmd.collective` reads and writes; `ways` in the order of its resources."""
    return _bound(execution, op, len(op.operands) - 4 * len(ways), ways)


def _bound(
    execution: Execution, op: ir.Operation, first: int, ways: Sequence[Way]
) -> tuple[Span, ...]:
    """Resources from operand `first` on, then their sizes, offsets and lengths."""
    operands, count = list(op.operands), len(ways)
    return tuple(
        span(
            execution,
            (operands[first + n], operands[first + 2 * count + n]),
            operands[first + 3 * count + n],
            way,
        )
        for n, way in enumerate(ways)
    )


def span(
    execution: Execution, place: tuple[ir.Value, ir.Value], length: ir.Value, access: Way
) -> Span:
    """`length` bytes at an offset of a resource."""
    read = execution.frame.reader.read
    resource, offset = place
    frame, value, start = _root(execution.frame, execution.operands.get(resource, resource))
    return Span(
        buffer=frame.names.buffer(_identity(value)),
        offset=apply("add", start, read(offset)),
        bytes=read(length),
        access=access,
        transient=isinstance(value, ir.OpResult)
        and str(value.type) == "!stream.resource<transient>"
        and not _handed_on(value),
        host=str(value.type) == "!stream.resource<staging>",
        carried=isinstance(value, ir.BlockArgument) and frame.entry_argument(value) is None,
    )


def _handed_on(value: ir.Value) -> bool:
    """Whether a loop's next turn, or what is behind a branch, has it under another name."""
    for use in value.uses:
        op = use.owner
        if op.name in _HANDING_ON:
            return True
        passes = op.name in (*_PASSING, "stream.resource.subview")
        if passes and _handed_on(op.results[use.operand_number]):
            return True
    return False


def _root(frame: Frame, value: ir.Value) -> tuple[Frame, ir.Value, Size]:
    """The value that a resource is at first, and where in it the resource starts."""
    start: Size = 0
    while True:
        if isinstance(value, ir.BlockArgument):
            number, call = frame.entry_argument(value), frame.call
            if number is None or call is None:
                return frame, value, start
            frame, value = call.caller, call.arguments[number]
            continue
        op = value.owner.operation
        if inlined := frame.results.get(value):
            frame, value = inlined
        elif op.name in _PASSING:
            value = op.operands[value.result_number]
        elif op.name == "stream.resource.subview":
            start = apply("add", start, frame.reader.read(op.operands[2]))
            value = op.operands[0]
        else:
            return frame, value, start


def _identity(value: ir.Value) -> object:
    """Every load of a global is the same buffer."""
    if isinstance(value, ir.OpResult) and value.owner.operation.name == "util.global.load":
        return str(value.owner.operation.attributes["global"].value)
    return value
