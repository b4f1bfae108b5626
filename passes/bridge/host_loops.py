"""How often a loop of the host program turns, where its exit test counts towards a bound."""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir

from xpu_shark.passes.bridge.host_arguments import entry_size, step, turn_step
from xpu_shark.passes.bridge.host_edges import Edge
from xpu_shark.passes.bridge.host_frame import Frame
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import apply, symbols

# arith.cmpi's predicate numbers: what holds when the test fails, and with the sides exchanged.
_EQ, _NE, _SLT, _SLE, _SGT, _SGE = range(6)
_NEGATED = {_EQ: _NE, _NE: _EQ, _SLT: _SGE, _SLE: _SGT, _SGT: _SLE, _SGE: _SLT}
_SWAPPED = {_EQ: _EQ, _NE: _NE, _SLT: _SGT, _SLE: _SGE, _SGT: _SLT, _SGE: _SLE}
_UNSIGNED = 4  # ult to uge follow slt to sge
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")


@dataclass(frozen=True)
class _Test:
    """The loop goes on while `counter predicate bound`."""

    predicate: int
    counter: ir.Value
    bound: ir.Value


def trip_count(frame: Frame, header: int) -> Size | None:
    """Times that the whole body runs; None unless one counted test ends the loop.

    The test stands at the head (`while`) or in the only block that leads back there (`do while`),
    on the counter or on the counter's next value.
    """
    exits = _exits(frame, header)
    sources = {edge.source for edge in exits}
    if len(sources) != 1 or len(exits) != 1:
        return None
    latches = {e.source for e in frame.edges[header] if e.source in frame.loops[header].blocks}
    at_head = sources == {header} and latches != {header}
    if not at_head and sources != latches:
        return None
    test = _read_test(exits[0])
    if test is None:
        return None
    passes = next(
        (p for t in (test, _swap(test)) if (p := _passes(frame, header, t)) is not None), None
    )
    return passes if at_head or passes is None else apply("add", passes, 1)


def _exits(frame: Frame, header: int) -> list[Edge]:
    inside = frame.loops[header].blocks
    return [
        edge
        for into in range(len(frame.blocks))
        if into not in inside
        for edge in frame.edges[into]
        if edge.source in inside
    ]


def _read_test(leaving: Edge) -> _Test | None:
    op = leaving.terminator
    condition = op.operands[0] if op.name == "cf.cond_br" else None
    if not isinstance(condition, ir.OpResult) or condition.owner.name != "arith.cmpi":
        return None
    predicate = int(condition.owner.attributes["predicate"].value)
    predicate -= _UNSIGNED if predicate > _SGE else 0
    lhs, rhs = condition.owner.operands
    return _Test(predicate if leaving.index else _NEGATED[predicate], lhs, rhs)


def _swap(test: _Test) -> _Test:
    return _Test(_SWAPPED[test.predicate], test.bound, test.counter)


def _passes(frame: Frame, header: int, test: _Test) -> Size | None:
    """How often in a row the test holds, the counter going up or down by a constant a turn."""
    found = _counter(frame, header, test.counter)
    if found is None:
        return None
    argument, ahead = found
    start, by = entry_size(frame, argument, header), turn_step(frame, argument, header)
    bound = frame.reader.read(test.bound)
    if start is None or not by or _varies(frame, header, test.bound, bound):
        return None
    start = apply("add", start, ahead)
    distance = apply("sub", bound, start) if by > 0 else apply("sub", start, bound)
    return _count(test.predicate, distance, by)


def _count(predicate: int, distance: Size, by: int) -> Size | None:
    """Steps of |by| that fit into `distance`, the bound itself included for `sle` and `sge`."""
    if predicate == _NE:
        return apply("floordiv", distance, abs(by))
    if predicate == (_SLT if by > 0 else _SGT):
        return apply("max", 0, apply("ceildiv", distance, abs(by)))
    if predicate == (_SLE if by > 0 else _SGE):
        return apply("max", 0, apply("add", apply("floordiv", distance, abs(by)), 1))
    return None


def _counter(frame: Frame, header: int, value: ir.Value) -> tuple[ir.BlockArgument, int] | None:
    """The loop's argument that `value` is or is a constant ahead of, with that constant."""
    while isinstance(value, ir.OpResult) and value.owner.name in _CASTS:
        value = value.owner.operands[0]
    for argument in frame.blocks[header].arguments:
        ahead = step(frame, value, argument)
        if ahead is not None:
            return argument, ahead
    return None


def _varies(frame: Frame, header: int, value: ir.Value, size: Size) -> bool:
    """Whether a bound may change from turn to turn."""
    loop = frame.loops[header]
    iteration = str(frame.names.iteration(loop.number))
    if any(name == iteration or name.startswith(f"{iteration}.") for name in symbols(size)):
        return True
    loads = isinstance(value, ir.OpResult) and value.owner.operation.name == "stream.resource.load"
    return loads and frame.blocks.index(value.owner.operation.block) in loop.blocks
