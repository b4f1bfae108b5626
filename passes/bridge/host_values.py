"""Sizes that only the host program knows: dims of inputs, globals, loaded and queried values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from iree.compiler import ir

from xpu_shark.passes.bridge.sizes import Size, SizeReader
from xpu_shark.simulator.symbolic import symbol

if TYPE_CHECKING:
    from xpu_shark.passes.bridge.host_frame import Frame

Leaf = Callable[["Frame", SizeReader, ir.OpResult], Size | None]


def input_names(function: ir.Operation) -> tuple[str, ...]:
    """A name for each argument: what its shape check calls it, else `input0`, `input1`, ...

    Frontends that have no names label every check `tensor`, which tells nothing.
    """
    block = function.regions[0].blocks[0]
    names = [f"input{i}" for i in range(len(block.arguments))]
    labels = dict(_labels(block))
    for number, label in labels.items():
        others = [name for i, name in enumerate(names) if i != number]
        if label not in ("", "tensor", *others) and list(labels.values()).count(label) == 1:
            names[number] = label
    return tuple(names)


def _labels(block: ir.Block) -> list[tuple[int, str]]:
    """Argument number and label of every shape check or import of an argument."""
    labels = []
    for view in block.operations:
        op = view.operation
        key = _LABELLED.get(op.name)
        if key and key in op.attributes and isinstance(op.operands[0], ir.BlockArgument):
            labels.append((op.operands[0].arg_number, ir.StringAttr(op.attributes[key]).value))
    return labels


def _dim(frame: Frame, _: SizeReader, value: ir.OpResult) -> Size | None:
    op = value.owner.operation
    argument = frame.reported_argument(op.operands[0])
    if argument is None or argument >= len(frame.names.inputs):
        return None
    return symbol(f"{frame.names.inputs[argument]}.{op.attributes['index'].value}")


def _rank(frame: Frame, _: SizeReader, value: ir.OpResult) -> Size | None:
    argument = frame.reported_argument(value.owner.operands[0])
    if argument is None or argument >= len(frame.names.inputs):
        return None
    return symbol(f"{frame.names.inputs[argument]}.rank")


def _global(frame: Frame, _: SizeReader, value: ir.OpResult) -> Size:
    name = value.owner.operation.attributes["global"].value
    return frame.program.globals.get(name, symbol(f"global.{name}"))


def _loaded(frame: Frame, _: SizeReader, value: ir.OpResult) -> Size:
    return symbol(frame.names.new("value"))


def _query(_: Frame, __: SizeReader, value: ir.OpResult) -> Size:
    attributes = value.owner.operation.attributes
    category, key = attributes["category"].value, attributes["key"].value
    return symbol(f"device.{category}.{key}{'' if value.result_number else '.ok'}")


def _named(name: str) -> Leaf:
    return lambda _, __, ___: symbol(name)


def _called(frame: Frame, _: SizeReader, value: ir.OpResult) -> Size:
    if inlined := frame.results.get(value):
        callee, returned = inlined
        return callee.reader.read(returned)
    callee_name = value.owner.operation.attributes["callee"].value
    return symbol(f"{callee_name}.result{value.result_number}")


def _switch(_: Frame, reader: SizeReader, value: ir.OpResult) -> Size | None:
    index, default, *cases = map(reader.read, value.owner.operands)
    if not isinstance(index, int):
        return default if set(cases) == {default} else None
    return cases[index] if 0 <= index < len(cases) else default


_LABELLED = {"hal.buffer_view.assert": "message", "hal.tensor.import": "name"}
LEAVES: Mapping[str, Leaf] = {
    "hal.buffer_view.dim": _dim,
    "hal.buffer_view.rank": _rank,
    "util.global.load": _global,
    "stream.resource.load": _loaded,
    "hal.device.query": _query,
    "stream.channel.rank": _named("channel.rank"),
    "stream.channel.count": _named("channel.count"),
    "util.call": _called,
    "util.switch": _switch,
}
