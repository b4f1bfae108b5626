"""Control flow of one kernel: its loops, and the bounds and conditions that lead to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from iree.compiler import ir

from xpu_shark.passes.instrument.expression import (
    Constant,
    Expression,
    Induction,
    WorkgroupCount,
    WorkgroupId,
    apply,
)
from xpu_shark.passes.instrument.name_trips import trip_number
from xpu_shark.passes.instrument.read_expression import ExpressionReader

LOOPS: Final = ("scf.for", "scf.while")
FORALL: Final = "scf.forall"
_SIZE: Final = "iree_tensor_ext.dispatch.workload.ordinal"
_CONTROL: Final = (*LOOPS, "scf.if", FORALL)
_DYNAMIC: Final = -(2**63)  # stands in a static list for an operand
_MAPPING: Final = re.compile(r"workgroup_mapping<([xyz])(?::(\d+))?>")


@dataclass
class Control:
    """What is known of the control flow of one function.

    `values` holds of each op what decides about its bodies: lower and upper bound and step of
    scf.for, the condition of scf.if and scf.while, whether this workgroup has a point of
    scf.forall. `numbers` numbers the loops. `workload` are
    the sizes that the launch was given, by their ordinal. `trips` says of a site that its value
    is a trip count of the workload. `inside` names each op of another kind with loops in it: those
    are not followed.
    """

    reader: ExpressionReader
    values: dict[ir.Operation, tuple[Expression, ...]] = field(default_factory=dict)
    numbers: dict[ir.Operation, int] = field(default_factory=dict)
    workload: dict[int, Expression] = field(default_factory=dict)
    trips: dict[int, int] = field(default_factory=dict)
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
        if not op.regions and (number := trip_number(op)):
            control.reader.probe(op.results[0])
            control.trips[control.reader.sites[op.results[0]]] = number
        if not op.regions or not (op.name in LOOPS or has_loops(op) or trip_number(op)):
            continue
        if op.name not in _CONTROL or not _understood(op):
            control.inside.append(op.name)
            continue
        _READERS[op.name](control, op)


def _understood(op: ir.Operation) -> bool:
    """Whether one block is all that each body has, and a forall runs one point a workgroup."""
    if op.name == FORALL and not _MAPPING.search(str(op.attributes.get("mapping", ""))):
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
    """A workgroup runs one point of it, if it has so many: `point` says which."""
    body = op.regions[0].blocks[0]
    lower, upper, step = _bounds(control, op)
    spans = (apply("sub", 64, *each) for each in zip(upper, lower, strict=True))
    trips = [apply("ceildivs", 64, *each) for each in zip(spans, step, strict=True)]
    total, rest = _product(trips), _linear_id()
    control.values[op] = (apply("slt", 64, rest, total),)
    for position in _fastest_first(op):
        point = apply("rems", 64, rest, trips[position])
        offset = apply("mul", 64, point, step[position])
        control.reader.known[body.arguments[position]] = apply("add", 64, offset, lower[position])
        rest = apply("divs", 64, rest, trips[position])
    _block(control, body)


def _linear_id() -> Expression:
    """Number of the workgroup in its launch, x fastest; llvm-cpu launches along x alone."""
    z = apply("mul", 64, WorkgroupCount(1), WorkgroupId(2))
    rows = apply("add", 64, WorkgroupId(1), z)
    return apply("add", 64, WorkgroupId(0), apply("mul", 64, WorkgroupCount(0), rows))


def _product(factors: list[Expression]) -> Expression:
    return reduce(lambda a, b: apply("mul", 64, a, b), factors)


def _fastest_first(op: ir.Operation) -> list[int]:
    """Positions of the induction variables by what they are mapped to: x, y, z, z:1, ..."""
    names = [_MAPPING.search(str(each)) for each in ir.ArrayAttr(op.attributes["mapping"])]
    keys = [(each[1], int(each[2] or 0)) if each else ("", 0) for each in names]
    return sorted(range(len(keys)), key=keys.__getitem__)


def _bounds(control: Control, op: ir.Operation) -> list[list[Expression]]:
    """Lower bounds, upper bounds and steps; the operands stand for the dynamic ones, in order."""
    operands = iter(op.operands)
    return [
        [
            control.reader.read(next(operands)) if value == _DYNAMIC else Constant(value)
            for value in ir.DenseI64ArrayAttr(op.attributes[f"static{name}"])
        ]
        for name in ("LowerBound", "UpperBound", "Step")
    ]


_READERS: Final = {"scf.for": _for, "scf.while": _while, "scf.if": _if, FORALL: _forall}
