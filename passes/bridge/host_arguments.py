"""What integer block arguments of the host program are: inputs, merged or loop-carried values.

A value that a loop changes by a constant each turn is linear in `<function>.iv<loop>`, the number
of the turn from 0. One that changes in another way is `<function>.iv<loop>.arg<n>`, and one that
differs by the way control came is `<function>.merged<n>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir

from xpu_shark.passes.bridge.host_edges import Edge
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import apply, symbol

if TYPE_CHECKING:
    from xpu_shark.passes.bridge.host_frame import Frame

_SIGN = {"arith.addi": 1, "arith.subi": -1}


def block_argument(frame: Frame, argument: ir.BlockArgument) -> Size | None:
    """The size that an argument of any block of the frame's function stands for."""
    if argument.owner not in frame.blocks:
        return None
    block = frame.blocks.index(argument.owner)
    if block in frame.loops:
        return _carried(frame, argument, block)
    return _merged(frame, argument, block) if block else frame.outer_size(argument.arg_number)


def entry_size(frame: Frame, argument: ir.BlockArgument, header: int) -> Size | None:
    """A loop-carried argument in the first turn; None if it depends on how control came."""
    inside = frame.loops[header].blocks
    return _same(frame, argument, [e for e in frame.edges[header] if e.source not in inside])


def turn_step(frame: Frame, argument: ir.BlockArgument, header: int) -> int | None:
    """What every turn of a loop adds to its argument; None if that is not one constant."""
    inside = frame.loops[header].blocks
    turns = [edge for edge in frame.edges[header] if edge.source in inside]
    steps = {step(frame, edge.value(argument.arg_number), argument) for edge in turns}
    return steps.pop() if len(steps) == 1 else None


def step(frame: Frame, value: ir.Value | None, argument: ir.BlockArgument) -> int | None:
    """What `value` adds to `argument`: 0 for itself, n for `addi(argument, n)`, else None."""
    if value is None or value == argument:
        return None if value is None else 0
    if isinstance(value, ir.BlockArgument) or value.owner.name not in _SIGN:
        return None
    lhs, rhs = value.owner.operands
    if rhs == argument and value.owner.name == "arith.addi":
        lhs, rhs = rhs, lhs
    size = frame.reader.read(rhs) if lhs == argument else None
    return size * _SIGN[value.owner.name] if isinstance(size, int) else None


def _carried(frame: Frame, argument: ir.BlockArgument, header: int) -> Size:
    iteration = frame.names.iteration(frame.loops[header].number)
    unknown = symbol(f"{iteration}.arg{argument.arg_number}")
    frame.reader.bind(argument, unknown)  # ends the search where a turn's value leads back here
    start = entry_size(frame, argument, header)
    if start is None:
        return unknown
    if by := turn_step(frame, argument, header):
        return apply("add", apply("mul", iteration, by), start)
    stays = by == 0 or _same(frame, argument, frame.edges[header]) == start
    return start if stays else unknown


def _merged(frame: Frame, argument: ir.BlockArgument, block: int) -> Size:
    unknown = symbol(frame.names.new("merged"))
    frame.reader.bind(argument, unknown)
    size = _same(frame, argument, frame.edges[block])
    return unknown if size is None else size


def _same(frame: Frame, argument: ir.BlockArgument, edges: list[Edge]) -> Size | None:
    """The size that all of `edges` pass, if it is one."""
    values = [edge.value(argument.arg_number) for edge in edges]
    sizes = {None if value is None else frame.reader.read(value) for value in values}
    return sizes.pop() if len(sizes) == 1 else None
