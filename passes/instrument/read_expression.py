"""Integer values of the IR as expressions over what a recorded run knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from iree.compiler import ir

from xpu_shark.passes.instrument.expression import (
    Constant,
    Expression,
    Probed,
    WorkgroupCount,
    WorkgroupId,
    apply,
)

LONGEST: Final = 64  # operations of one expression; a longer one is probed
_BINARY: Final = {
    "arith.addi": "add",
    "arith.subi": "sub",
    "arith.muli": "mul",
    "arith.divsi": "divs",
    "arith.divui": "divu",
    "arith.ceildivsi": "ceildivs",
    "arith.ceildivui": "ceildivu",
    "arith.floordivsi": "floordivs",
    "arith.remsi": "rems",
    "arith.remui": "remu",
    "arith.minsi": "mins",
    "arith.minui": "minu",
    "arith.maxsi": "maxs",
    "arith.maxui": "maxu",
    "arith.andi": "and",
    "arith.ori": "or",
    "arith.xori": "xor",
    "arith.shli": "shl",
    "arith.shrsi": "shrs",
    "arith.shrui": "shru",
}
_PREDICATES: Final = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_AFFINE: Final[dict[type, str]] = {
    ir.AffineAddExpr: "add",
    ir.AffineMulExpr: "mul",
    ir.AffineModExpr: "mod",
    ir.AffineFloorDivExpr: "floordivs",
    ir.AffineCeilDivExpr: "ceildivs",
}
_INDEX: Final = 64


class _Opaque(Exception):
    """This value can only be probed."""


class ExpressionReader:
    """Expressions of one function; a value that none describes gets a probe site.

    `known` maps values to expressions, `sites` maps the values that need a probe to their sites,
    numbered from `first_site` in the order in which they were found.
    """

    def __init__(self, first_site: int = 0) -> None:
        self.known: dict[ir.Value, Expression] = {}
        self.sites: dict[ir.Value, int] = {}
        self.next_site = first_site
        self._left = 0

    def read(self, value: ir.Value) -> Expression:
        """The expression of an integer or index `value`."""
        self._left = LONGEST
        before, next_site = dict(self.sites), self.next_site
        try:
            return self._operand(value)
        except _Opaque:
            self.sites, self.next_site = before, next_site
            return self.probe(value)

    def probe(self, value: ir.Value) -> Expression:
        """A probe of `value` itself."""
        if value not in self.sites:
            self.sites[value] = self.next_site
            self.next_site += 1
        return Probed(self.sites[value])

    def _operand(self, value: ir.Value) -> Expression:
        if value in self.known:
            return self.known[value]
        self._left -= 1
        if self._left < 0 or not _width(value.type):
            raise _Opaque
        if isinstance(value, ir.BlockArgument):
            return self.probe(value)
        op = value.owner.operation
        read = _READERS.get(op.name)
        found = read(self, op, ir.OpResult(value).result_number) if read else None
        return self.probe(value) if found is None else found

    def operands(self, op: ir.Operation) -> tuple[Expression, ...]:
        return tuple(self._operand(each) for each in op.operands)


_Reader = Callable[[ExpressionReader, ir.Operation, int], Expression | None]


def bits(kind: ir.Type) -> int:
    """Width of an integer or index type."""
    return _INDEX if isinstance(kind, ir.IndexType) else int(ir.IntegerType(kind).width)


def _constant(reader: ExpressionReader, op: ir.Operation, number: int) -> Expression:
    value = ir.IntegerAttr(op.attributes["value"]).value
    return Constant(value & 1 if bits(op.results[0].type) == 1 else value)


def _binary(name: str) -> _Reader:
    def read(reader: ExpressionReader, op: ir.Operation, number: int) -> Expression:
        return apply(name, bits(op.results[0].type), *reader.operands(op))

    return read


def _compare(reader: ExpressionReader, op: ir.Operation, number: int) -> Expression | None:
    predicate = _PREDICATES[ir.IntegerAttr(op.attributes["predicate"]).value]
    width = _width(op.operands[0].type)
    if not width or (width == 1 and predicate.startswith("s")):
        return None  # of vectors, or of one bit as a sign
    return apply(predicate, width, *reader.operands(op))


def _select(reader: ExpressionReader, op: ir.Operation, number: int) -> Expression | None:
    if _width(op.operands[0].type) != 1:
        return None
    return apply("select", bits(op.results[0].type), *reader.operands(op))


def _cast(*, unsigned: bool) -> _Reader:
    def read(reader: ExpressionReader, op: ir.Operation, number: int) -> Expression | None:
        source, result = bits(op.operands[0].type), bits(op.results[0].type)
        (operand,) = reader.operands(op)
        if result < source:
            return apply("trunc", result, operand)
        if not unsigned and source == 1:
            return None
        return apply("zext", source, operand) if unsigned and result > source else operand

    return read


def _same(reader: ExpressionReader, op: ir.Operation, number: int) -> Expression:
    return reader._operand(op.operands[number])


def _dimension(make: Callable[[int], Expression]) -> _Reader:
    return lambda reader, op, number: make(ir.IntegerAttr(op.attributes["dimension"]).value)


def _affine(combine: str) -> _Reader:
    def read(reader: ExpressionReader, op: ir.Operation, number: int) -> Expression:
        mapping = ir.AffineMapAttr(op.attributes["map"]).value
        operands = reader.operands(op)
        dims, symbols = operands[: mapping.n_dims], operands[mapping.n_dims :]
        first, *rest = (_affine_expression(each, dims, symbols) for each in mapping.results)
        for each in rest:
            first = apply(combine, _INDEX, first, each)
        return first

    return read


def _affine_expression(
    node: Any,  # noqa: ANN401  (the bindings have no types)
    dims: tuple[Expression, ...],
    symbols: tuple[Expression, ...],
) -> Expression:
    if isinstance(node, ir.AffineConstantExpr):
        return Constant(node.value)
    if isinstance(node, ir.AffineDimExpr):
        return dims[int(node.position)]
    if isinstance(node, ir.AffineSymbolExpr):
        return symbols[int(node.position)]
    sides = (_affine_expression(each, dims, symbols) for each in (node.lhs, node.rhs))
    return apply(_AFFINE[type(node)], _INDEX, *sides)


def _width(kind: ir.Type) -> int:
    """Bits of an integer or index type, 0 of any other."""
    return bits(kind) if isinstance(kind, ir.IndexType | ir.IntegerType) else 0


_READERS: Final[dict[str, _Reader]] = {
    **{op: _binary(name) for op, name in _BINARY.items()},
    "arith.constant": _constant,
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.index_cast": _cast(unsigned=False),
    "arith.index_castui": _cast(unsigned=True),
    "arith.extsi": _cast(unsigned=False),
    "arith.extui": _cast(unsigned=True),
    "arith.trunci": _cast(unsigned=False),
    "affine.apply": _affine("add"),
    "affine.min": _affine("mins"),
    "affine.max": _affine("maxs"),
    "util.assume.int": _same,
    "iree_tensor_ext.dispatch.workload.ordinal": _same,
    "hal.interface.workgroup.id": _dimension(WorkgroupId),
    "hal.interface.workgroup.count": _dimension(WorkgroupCount),
}
