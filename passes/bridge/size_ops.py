"""The integer ops that sizes are made of: op name to what its result is.

An i1 is 0 or 1, and comparisons and selects are written with max, min and products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from iree.compiler import ir

from xpu_shark.simulator.symbolic import Expr, apply

if TYPE_CHECKING:
    from xpu_shark.passes.bridge.sizes import Size, SizeReader

Op = Callable[["SizeReader", ir.OpResult], "Size | None"]


def _constant(_: SizeReader, value: ir.OpResult) -> Size | None:
    attribute = value.owner.operation.attributes["value"]
    if isinstance(attribute, ir.IntegerAttr):
        return int(attribute.value)
    return int(attribute.value) if isinstance(attribute, ir.BoolAttr) else None


def _same(reader: SizeReader, value: ir.OpResult) -> Size:
    """The operand of the result's own number: casts, assumptions, barriers."""
    return reader.read(value.owner.operation.operands[value.result_number])


def _first(reader: SizeReader, value: ir.OpResult) -> Size:
    return reader.read(value.owner.operation.operands[0])


def _binary(op: str) -> Op:
    def read(reader: SizeReader, value: ir.OpResult) -> Size:
        lhs, rhs = value.owner.operation.operands
        return apply(op, reader.read(lhs), reader.read(rhs))

    return read


def _truncate(reader: SizeReader, value: ir.OpResult) -> Size:
    size = reader.read(value.owner.operation.operands[0])
    return apply("mod", size, 1 << value.type.width) if value.type.width > 1 else size


def _shift(op: str) -> Op:
    def read(reader: SizeReader, value: ir.OpResult) -> Size | None:
        size, amount = map(reader.read, value.owner.operation.operands)
        return apply(op, size, 1 << amount) if isinstance(amount, int) else None

    return read


def _or(reader: SizeReader, value: ir.OpResult) -> Size | None:
    """A sum where the bits cannot overlap: the two halves of an i64 passed as two i32."""
    lhs, rhs = map(reader.read, value.owner.operation.operands)
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs | rhs
    return apply("add", lhs, rhs) if _is_high_half(lhs) or _is_high_half(rhs) else None


def _is_high_half(size: Size) -> bool:
    return isinstance(size, Expr) and size.op == "mul" and size.args[1] == 1 << 32


def _and(reader: SizeReader, value: ir.OpResult) -> Size | None:
    lhs, rhs = map(reader.read, value.owner.operation.operands)
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs & rhs
    if isinstance(rhs, int) and rhs >= 0 and rhs & (rhs + 1) == 0:
        return apply("mod", lhs, rhs + 1)
    return apply("mul", lhs, rhs) if value.type.width == 1 else None


def _align(reader: SizeReader, value: ir.OpResult) -> Size:
    size, alignment = map(reader.read, value.owner.operation.operands)
    return apply("mul", apply("ceildiv", size, alignment), alignment)


def _less(lhs: Size, rhs: Size) -> Size:
    """1 where lhs < rhs, else 0."""
    return apply("min", apply("max", apply("sub", rhs, lhs), 0), 1)


def _not(size: Size) -> Size:
    return apply("sub", 1, size)


def _unequal(lhs: Size, rhs: Size) -> Size:
    return apply("min", apply("max", apply("sub", lhs, rhs), apply("sub", rhs, lhs)), 1)


# By arith.cmpi's predicate number; the unsigned ones (6 to 9) follow the signed order.
_COMPARE: tuple[Callable[[Size, Size], Size], ...] = (
    lambda lhs, rhs: _not(_unequal(lhs, rhs)),
    _unequal,
    _less,
    lambda lhs, rhs: _not(_less(rhs, lhs)),
    lambda lhs, rhs: _less(rhs, lhs),
    lambda lhs, rhs: _not(_less(lhs, rhs)),
)


def _compare(reader: SizeReader, value: ir.OpResult) -> Size:
    lhs, rhs = map(reader.read, value.owner.operation.operands)
    predicate: int = value.owner.operation.attributes["predicate"].value
    return _COMPARE[predicate - 4 if predicate > 5 else predicate](lhs, rhs)


def _select(reader: SizeReader, value: ir.OpResult) -> Size:
    condition, then, other = map(reader.read, value.owner.operation.operands)
    return apply(
        "add", apply("mul", then, condition), apply("mul", other, apply("sub", 1, condition))
    )


def affine(expr: ir.AffineExpr, dims: list[Size], symbols: list[Size]) -> Size:
    """`expr` with its dims and symbols replaced by sizes."""
    if isinstance(expr, ir.AffineConstantExpr):
        return int(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        dim: int = expr.position
        return dims[dim]
    if isinstance(expr, ir.AffineSymbolExpr):
        position: int = expr.position
        return symbols[position]
    return apply(
        _AFFINE[type(expr)], affine(expr.lhs, dims, symbols), affine(expr.rhs, dims, symbols)
    )


_AFFINE: dict[type, str] = {
    ir.AffineAddExpr: "add",
    ir.AffineMulExpr: "mul",
    ir.AffineModExpr: "mod",
    ir.AffineFloorDivExpr: "floordiv",
    ir.AffineCeilDivExpr: "ceildiv",
}


def _affine_map(combine: str) -> Op:
    def read(reader: SizeReader, value: ir.OpResult) -> Size:
        map_ = value.owner.operation.attributes["map"].value
        sizes = [reader.read(operand) for operand in value.owner.operation.operands]
        first, *rest = (
            affine(result, sizes[: map_.n_dims], sizes[map_.n_dims :]) for result in map_.results
        )
        for size in rest:
            first = apply(combine, first, size)
        return first

    return read


def _strides(
    reader: SizeReader, op: ir.Operation, dynamic: list[ir.Value], count: int
) -> list[Size]:
    """Strides of the `count` positions of a (de)linearize op; the outermost has no bound."""
    basis = reader.mixed(op.attributes["static_basis"], dynamic)
    strides: list[Size] = [1]
    for size in reversed(basis[len(basis) - count + 1 :]):
        strides.append(apply("mul", size, strides[-1]))
    return strides[::-1]


def _linearize(reader: SizeReader, value: ir.OpResult) -> Size:
    op = value.owner.operation
    count = op.attributes["operandSegmentSizes"][0]
    operands = list(op.operands)
    total: Size = 0
    strides = _strides(reader, op, operands[count:], count)
    for index, stride in zip(operands[:count], strides, strict=True):
        total = apply("add", apply("mul", reader.read(index), stride), total)
    return total


def _delinearize(reader: SizeReader, value: ir.OpResult) -> Size:
    op, number = value.owner.operation, value.result_number
    index, *dynamic = op.operands
    strides = _strides(reader, op, dynamic, len(op.results))
    position = apply("floordiv", reader.read(index), strides[number])
    if number == 0:
        return position
    return apply("mod", position, apply("floordiv", strides[number - 1], strides[number]))


ARITHMETIC: dict[str, Op] = {
    "arith.constant": _constant,
    "arith.addi": _binary("add"),
    "arith.subi": _binary("sub"),
    "arith.muli": _binary("mul"),
    "arith.divsi": _binary("floordiv"),
    "arith.divui": _binary("floordiv"),
    "arith.floordivsi": _binary("floordiv"),
    "arith.ceildivsi": _binary("ceildiv"),
    "arith.ceildivui": _binary("ceildiv"),
    "arith.remsi": _binary("mod"),
    "arith.remui": _binary("mod"),
    "arith.maxsi": _binary("max"),
    "arith.maxui": _binary("max"),
    "arith.minsi": _binary("min"),
    "arith.minui": _binary("min"),
    "arith.shli": _shift("mul"),
    "arith.shrui": _shift("floordiv"),
    "arith.shrsi": _shift("floordiv"),
    "arith.ori": _or,
    "arith.andi": _and,
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.index_cast": _first,
    "arith.index_castui": _first,
    "arith.extui": _first,
    "arith.extsi": _first,
    "arith.trunci": _truncate,
    "affine.apply": _affine_map("add"),
    "affine.min": _affine_map("min"),
    "affine.max": _affine_map("max"),
    "affine.linearize_index": _linearize,
    "affine.delinearize_index": _delinearize,
    "util.align": _align,
    "util.assume.int": _same,
    "util.optimization_barrier": _same,
    "iree_tensor_ext.dispatch.workload.ordinal": _first,
}
