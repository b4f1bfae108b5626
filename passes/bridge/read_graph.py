"""The dispatch graph at phase flow: which dispatch or collective reads whose results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from iree.compiler import ir

from xpu_shark.passes.bridge.host_frame import Frame, Names
from xpu_shark.passes.bridge.host_program import Program, load_program, walk
from xpu_shark.passes.bridge.host_values import input_names
from xpu_shark.passes.bridge.locations import source_location
from xpu_shark.passes.bridge.sizes import Size

_INPUTS = ("hal.tensor.import", "util.call")
_CONSTANTS = (
    "arith.constant",
    "flow.tensor.constant",
    "flow.tensor.splat",
    "util.global.load",
)
_SAME_DATA = ("flow.tensor.reshape", "flow.tensor.bitcast", "tensor.cast", "hal.tensor.barrier")


@dataclass(frozen=True)
class Array:
    """Shape (sizes may be symbolic) and MLIR element type of a tensor."""

    shape: tuple[Size, ...]
    element: str


@dataclass(frozen=True)
class Operand:
    """A tensor that a site reads and the index of the site that made it, or what it is instead.

    `other` is a value of another op or one that a loop carries.
    """

    source: int | Literal["input", "constant", "other"]
    array: Array


@dataclass(frozen=True)
class Site:
    """One dispatch (`name` is its export) or collective (`name` is its kind) of a function."""

    function: str
    kind: Literal["dispatch", "collective"]
    name: str
    location: str
    operands: tuple[Operand, ...]
    results: tuple[Array, ...]


@dataclass(frozen=True)
class Graph:
    """Sites in program order, over all functions of the module."""

    sites: tuple[Site, ...]


def read_graph(module: ir.Operation) -> Graph:
    """The graph of `module`, a builtin.module at flow."""
    program = load_program(module)
    sites: list[Site] = []
    for name, op in program.functions.items():
        if len(op.regions[0].blocks):
            sites.extend(_function(program, name, op, len(sites)))
    return Graph(tuple(sites))


def _function(program: Program, name: str, op: ir.Operation, first: int) -> Iterator[Site]:
    frame = Frame(program, Names(name, input_names(op)), name, list(op.regions[0].blocks))
    made: dict[ir.Value, int] = {}
    for inner in walk(op):
        if inner.name == "flow.dispatch" or inner.name.startswith("flow.collective."):
            yield _site(frame, inner, made)
            made.update(dict.fromkeys(inner.results, first))
            first += 1


def _site(frame: Frame, op: ir.Operation, made: dict[ir.Value, int]) -> Site:
    is_dispatch = op.name == "flow.dispatch"
    arguments, dims = _dispatch_operands(op) if is_dispatch else (list(op.operands), [])
    sizes = iter([frame.reader.read(dim) for dim in dims])
    tensors = [value for value in arguments if isinstance(value.type, ir.RankedTensorType)]
    return Site(
        function=frame.function,
        kind="dispatch" if is_dispatch else "collective",
        name=op.attributes["entry_points"][0].value[-1] if is_dispatch else op.name.split(".")[2],
        location=source_location(op.location),
        operands=tuple(Operand(_source(v, made), _array(frame, v, sizes)) for v in tensors),
        results=tuple(_array(frame, result, sizes) for result in op.results),
    )


def _dispatch_operands(op: ir.Operation) -> tuple[list[ir.Value], list[ir.Value]]:
    """The arguments, and the dynamic dims of arguments and results in order."""
    workload, count, *_ = op.attributes["operandSegmentSizes"]
    operands = list(op.operands)
    return operands[workload : workload + count], operands[workload + count :]


def _array(frame: Frame, value: ir.Value, sizes: Iterator[Size]) -> Array:
    tensor = ir.RankedTensorType(value.type)
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = (_next(frame, sizes) if size == dynamic else size for size in tensor.shape)
    return Array(tuple(shape), str(tensor.element_type))


def _next(frame: Frame, sizes: Iterator[Size]) -> Size:
    size = next(sizes, None)
    return frame.reader.fresh("dim") if size is None else size


def _source(
    value: ir.Value, made: dict[ir.Value, int]
) -> int | Literal["input", "constant", "other"]:
    while value not in made and isinstance(value, ir.OpResult):
        name = value.owner.operation.name
        if name not in _SAME_DATA:
            return "input" if name in _INPUTS else "constant" if name in _CONSTANTS else "other"
        value = value.owner.operation.operands[0]
    return made.get(value, "other")
