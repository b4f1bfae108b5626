"""Positions in tensors: affine maps and index arithmetic as `workload.Index`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from iree.compiler import ir

from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import Expr
from xpu_shark.simulator.workload import Index

Position = tuple[Index, ...]
Step = Callable[[Position], Position]
HERE = Index()


def identity(rank: int) -> Position:
    """Loop dim i walks tensor dimension i."""
    return tuple(Index(terms=((dim, 1),)) for dim in range(rank))


def along(*dims: int | None) -> Position:
    """Tensor dimension i is walked by loop dim `dims[i]`, or not at all where that is None."""
    return tuple(HERE if dim is None else Index(terms=((dim, 1),)) for dim in dims)


def positions(map_: ir.AffineMap) -> Position:
    """The results of an indexing map, one `Index` each."""
    dims = identity(map_.n_dims)
    return tuple(_affine(expr, dims) for expr in map_.results)


def walk_dims(position: Position) -> tuple[int, ...]:
    """Loop dims that move `position`, each once, in order."""
    return tuple(dict.fromkeys(dim for index in position for dim, _ in index.terms))


def scaled(index: Index, factor: Size) -> Index:
    """`factor` times `index`; a factor that is not a number makes it a run-time position."""
    if factor == 1:
        return index
    if not isinstance(factor, int) or index.indirect:
        return _runtime(index)
    terms = tuple((dim, factor * coefficient) for dim, coefficient in index.terms)
    return Index(terms=terms, offset=factor * index.offset)


def added(*indices: Index) -> Index:
    """The sum of `indices`, coefficients of one dim gathered."""
    terms: dict[int, int] = {}
    for dim, coefficient in (term for index in indices for term in index.terms):
        terms[dim] = terms.get(dim, 0) + coefficient
    if any(index.indirect for index in indices):
        return Index(terms=tuple((dim, 1) for dim in terms), indirect=True)
    offset = sum(index.offset for index in indices)
    return Index(terms=tuple(term for term in terms.items() if term[1]), offset=offset)


def combined(*indices: Index) -> Index:
    """Some function of `indices` that is not linear: a run-time position."""
    return _runtime(added(*(_runtime(index) for index in indices)))


def from_ssa(value: ir.Value, known: Mapping[ir.Value, Index]) -> Index:
    """The position that an index value computed in a body stands for.

    `known` gives loop counters and, for data that the body was handed, the loop dims that it
    varies with. Values from outside the body do not move: their position is `HERE`.
    """
    if value in known:
        return known[value]
    if isinstance(value, ir.BlockArgument):
        return HERE
    number = constant(value)
    if number is not None:
        return Index(offset=number)
    op = value.owner.operation
    parts = [from_ssa(operand, known) for operand in op.operands]
    linear = _LINEAR.get(op.name)
    if linear is not None:
        return linear(op, parts)
    return combined(*parts) if any(part.terms for part in parts) else HERE


def sliced(strides: Sequence[Size], kept: Sequence[bool], offsets: Sequence[Size | Index]) -> Step:
    """From a position in a slice to one in its source; dropped dimensions stand still.

    Offsets that are neither numbers nor positions are left out: which part it is then makes no
    difference.
    """
    starts = [
        Index(offset=offset) if isinstance(offset, int) else offset
        for offset in (HERE if isinstance(each, Expr) else each for each in offsets)
    ]

    def step(position: Position) -> Position:
        indices = iter(position)
        return tuple(
            added(scaled(next(indices), stride), start) if keep else start
            for stride, keep, start in zip(strides, kept, starts, strict=True)
        )

    return step


def folded(groups: Sequence[Sequence[int]], shape: Sequence[Size]) -> Step:
    """From a position in an expanded `shape` to one where each group is a single dimension."""

    def step(position: Position) -> Position:
        return tuple(_row_major(position, group, shape) for group in groups)

    return step


def split(groups: Sequence[Sequence[int]], shape: Sequence[Size]) -> Step:
    """From a position in a collapsed array to one in its source of the given `shape`.

    Exact where a group has one dimension larger than 1; else the position is known at run time.
    """

    def step(position: Position) -> Position:
        result = [HERE] * len(shape)
        for index, group in zip(position, groups, strict=True):
            large = [dim for dim in group if shape[dim] != 1]
            if large:
                result[large[0]] = index if len(large) == 1 else _runtime(index)
        return tuple(result)

    return step


def _row_major(position: Position, group: Sequence[int], shape: Sequence[Size]) -> Index:
    result, inner = HERE, 1
    for dim in reversed(group):
        result = added(result, scaled(position[dim], inner))
        size = shape[dim]
        if isinstance(size, int):
            inner *= size
        elif dim != group[0]:
            return combined(*(position[dim] for dim in group))
    return result


def _runtime(index: Index) -> Index:
    if not index.terms:
        return HERE
    return Index(terms=tuple((dim, 1) for dim, _ in index.terms), indirect=True)


def _affine(expr: ir.AffineExpr, dims: Position) -> Index:
    if isinstance(expr, ir.AffineDimExpr):
        dim: int = expr.position
        return dims[dim]
    if isinstance(expr, ir.AffineConstantExpr):
        return Index(offset=int(expr.value))
    if isinstance(expr, ir.AffineSymbolExpr):
        return HERE
    lhs, rhs = _affine(expr.lhs, dims), _affine(expr.rhs, dims)
    if isinstance(expr, ir.AffineAddExpr):
        return added(lhs, rhs)
    if isinstance(expr, ir.AffineMulExpr) and isinstance(expr.rhs, ir.AffineConstantExpr):
        return scaled(lhs, int(expr.rhs.value))
    return combined(lhs, rhs)


def constant(value: ir.Value) -> int | None:
    """The integer that `value` is; None where it is computed."""
    if isinstance(value, ir.BlockArgument) or value.owner.operation.name != "arith.constant":
        return None
    attribute = value.owner.operation.attributes["value"]
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None


def _difference(_: ir.Operation, parts: list[Index]) -> Index:
    return added(parts[0], scaled(parts[1], -1))


def _product(op: ir.Operation, parts: list[Index]) -> Index:
    lhs, rhs = (constant(operand) for operand in op.operands)
    if rhs is not None:
        return scaled(parts[0], rhs)
    return scaled(parts[1], lhs) if lhs is not None else combined(*parts)


def _applied(op: ir.Operation, parts: list[Index]) -> Index:
    map_ = op.attributes["map"].value
    if any(part.terms for part in parts[map_.n_dims :]):
        return combined(*parts)
    return _affine(map_.results[0], tuple(parts[: map_.n_dims]))


def _linearized(op: ir.Operation, parts: list[Index]) -> Index:
    basis = list(op.attributes["static_basis"])
    count = op.attributes["operandSegmentSizes"][0]
    dims = [1] * (count - len(basis)) + basis
    if any(size < 0 for size in dims[1:]):
        return combined(*parts)
    return _row_major(tuple(parts[:count]), range(count), dims)


_LINEAR: dict[str, Callable[[ir.Operation, list[Index]], Index]] = {
    "arith.addi": lambda _, parts: added(*parts),
    "arith.subi": _difference,
    "arith.muli": _product,
    "affine.apply": _applied,
    "affine.linearize_index": _linearized,
    **{
        f"arith.{name}": lambda _, parts: parts[0]
        for name in ("index_cast", "index_castui", "extsi", "extui", "trunci")
    },
}
