"""Control flow of one kernel: its loops, and the bounds and conditions that lead to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from iree.compiler import ir

from xpu_shark.passes.instrument.expression import (
    Apply,
    Constant,
    Expression,
    Induction,
    WorkgroupId,
)
from xpu_shark.passes.instrument.read_expression import ExpressionReader

LOOPS: Final = ("scf.for", "scf.while")
FORALL: Final = "scf.forall"
_SIZE: Final = "iree_tensor_ext.dispatch.workload.ordinal"
_CONTROL: Final = (*LOOPS, "scf.if", FORALL)
_DYNAMIC: Final = -(2**63)  # stands in a static list for an operand
_DIMENSIONS: Final = {"x": 0, "y": 1, "z": 2}


@dataclass
class Control:
    """What is known of the control flow of one function.

    `values` holds of each op what decides about its bodies: lower and upper bound and step of
    scf.for, the condition of scf.if and scf.while. `numbers` numbers the loops. `workload` are
    the sizes that the launch was given, by their ordinal. `inside` names each op of another kind
    with loops in it: those are not followed.
    """

    reader: ExpressionReader
    values: dict[ir.Operation, tuple[Expression, ...]] = field(default_factory=dict)
    numbers: dict[ir.Operation, int] = field(default_factory=dict)
    workload: dict[int, Expression] = field(default_factory=dict)
    inside: list[str] = field(default_factory=list)


def read_control(function: ir.Operation, first_site: int = 0) -> Control:
    """The control flow of a func.func with one block."""
    control = Control(ExpressionReader(first_site))
    block = function.regions[0].blocks[0]
    for view in block.operations:
        if view.operation.name == _SIZE:
            ordinal = ir.IntegerAttr(view.operation.attributes["ordinal"]).value
            control.workload[ordinal] = control.reader.read(view.operation.operands[0])
    _block(control, block)
    return control


def followed(control: Control, op: ir.Operation) -> bool:
    """Whether `op` is a loop, or a branch or forall with one in it."""
    return op in control.values or op in control.numbers


def has_loops(op: ir.Operation) -> bool:
    """Whether a loop is somewhere in the bodies of `op`."""
    return any(
        inner.operation.name in LOOPS or has_loops(inner.operation)
        for inner in _inner(op)
        if inner.operation.regions or inner.operation.name in LOOPS
    )


def _inner(op: ir.Operation) -> Iterator[ir.OpView]:
    return (inner for region in op.regions for block in region.blocks for inner in block)


def _block(control: Control, block: ir.Block) -> None:
    for view in block.operations:
        op = view.operation
        if not op.regions or not (op.name in LOOPS or has_loops(op)):
            continue
        if op.name not in _CONTROL or not _understood(op):
            control.inside.append(op.name)
            continue
        _READERS[op.name](control, op)


def _understood(op: ir.Operation) -> bool:
    """Whether one block is all that each body has, and a forall runs one point a workgroup."""
    if op.name == FORALL and "mapping" not in op.attributes:
        return False
    if op.name == "scf.for" and "unsignedCmp" in op.attributes:
        return False
    return all(len(region.blocks) <= 1 for region in op.regions)


def _for(control: Control, op: ir.Operation) -> None:
    number = control.numbers[op] = len(control.numbers)
    control.values[op] = tuple(map(control.reader.read, list(op.operands)[:3]))
    body = op.regions[0].blocks[0]
    control.reader.known[body.arguments[0]] = Induction(number)
    _block(control, body)


def _while(control: Control, op: ir.Operation) -> None:
    control.numbers[op] = len(control.numbers)
    before, body = (region.blocks[0] for region in op.regions)
    _block(control, before)
    condition = list(before.operations)[-1].operation.operands[0]
    control.values[op] = (control.reader.read(condition),)
    _block(control, body)


def _if(control: Control, op: ir.Operation) -> None:
    control.values[op] = (control.reader.read(op.operands[0]),)
    for region in op.regions:
        for block in region.blocks:
            _block(control, block)


def _forall(control: Control, op: ir.Operation) -> None:
    """A workgroup runs one point of it: the induction variables follow from the workgroup's id."""
    control.values[op] = ()
    body = op.regions[0].blocks[0]
    mapping = [str(each) for each in ir.ArrayAttr(op.attributes["mapping"])]
    lower, step = (_static(op, f"static{name}") for name in ("LowerBound", "Step"))
    for argument, where, start, by in zip(body.arguments, mapping, lower, step, strict=False):
        dimension = _DIMENSIONS.get(where.rpartition("<")[2].rstrip(">"))
        if dimension is not None and _DYNAMIC not in (start, by):
            offset = Apply("mul", 64, (WorkgroupId(dimension), Constant(by)))
            control.reader.known[argument] = Apply("add", 64, (offset, Constant(start)))
    _block(control, body)


def _static(op: ir.Operation, name: str) -> list[int]:
    return list(ir.DenseI64ArrayAttr(op.attributes[name]))


_READERS: Final = {"scf.for": _for, "scf.while": _while, "scf.if": _if, FORALL: _forall}
