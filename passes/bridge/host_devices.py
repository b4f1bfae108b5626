"""Which device a command runs on, and which copies cross from one device to another.

A transfer is a copy with a marker beside it: `invalidate from(B)` on what is read, when the data
comes from B, or `flush to(B)` on what was written, when it goes to B. A marker without its copy
moves the bytes by itself: the other device touches the memory where it lies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from iree.compiler import ir

from xpu_shark.passes.bridge.host_frame import Frame

_SYMBOL = re.compile(r'@(?:"((?:[^"\\]|\\.)*)"|([\w$.\-]+))')
_FORWARDED = ("stream.timepoint.await", "stream.resource.subview", "util.optimization_barrier")
Place = tuple[ir.Value, ir.Value]  # a resource and an offset into it


@dataclass
class Execution:
    """One region of commands that is submitted to a device."""

    frame: Frame
    device: str
    operands: dict[ir.Value, ir.Value]  # what the region's arguments are outside
    incoming: dict[Place, str] = field(default_factory=dict)  # device that wrote what is read
    outgoing: dict[Place, str] = field(
        default_factory=dict
    )  # device that will read what is written


def devices(affinity: ir.Attribute | None) -> tuple[str, ...]:
    """Device symbols of an affinity, without `@`: `#hal.device.affinity<@a>` is ("a",)."""
    if affinity is None:
        return ()
    return tuple(quoted or bare for quoted, bare in _SYMBOL.findall(str(affinity)))


def affinity(op: ir.Operation, name: str = "affinity") -> ir.Attribute | None:
    """The named attribute of `op`, None where it has none."""
    return op.attributes[name] if name in op.attributes else None


def device_of(frame: Frame, op: ir.Operation) -> str:
    """The device that `op` runs on, the module's default where it does not say; "" if neither."""
    own = affinity(op)
    return next(iter(devices(frame.program.default_affinity if own is None else own)), "")


def home(execution: Execution, resource: ir.Value) -> str:
    """The one device that a region's argument was allocated or imported on; "" if unknown."""
    value = execution.operands.get(resource, resource)
    while isinstance(value, ir.OpResult):
        op = value.owner.operation
        if op.name not in _FORWARDED:
            found = devices(affinity(op))
            return found[0] if len(found) == 1 else ""
        value = op.operands[value.result_number]
    return ""


def route(execution: Execution, source: Place, target: Place) -> tuple[str, str]:
    """Devices that a copy reads from and writes to."""
    here = execution.device
    read = execution.incoming.get(source) or home(execution, source[0]) or here
    written = execution.outgoing.get(target) or home(execution, target[0]) or here
    return read, written
