"""`iree_codegen.inner_tiled`: a product of matrices stored in tiles as an instruction takes them.

The indexing maps are over the loops between tiles; the last dimensions of each operand are one
tile, its rows and columns interleaved by the instruction's layout.
"""

from __future__ import annotations

from math import isqrt, prod

from iree.compiler import ir

from xpu_shark.passes.bridge.errors import Unreadable
from xpu_shark.passes.bridge.indexing import Position, positions, walk_dims
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader, element_of
from xpu_shark.passes.bridge.ops.structured import loop_dims
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.workload import Contraction, Dim, Index, Work


def read_inner_tiled(builder: KernelBuilder, op: ir.Operation) -> None:
    """One contraction over the loops between tiles and three loops inside: rows, columns, depth.

    Raises `Unreadable` for anything but a product of two operands into one (scaled products have
    more) and for tiles that are no matrices.
    """
    segments = list(op.attributes["operandSegmentSizes"])
    if segments != [2, 1]:
        raise Unreadable(f"{op.name} with {segments[0]} inputs")
    operands = list(op.operands)
    outer = [positions(attribute.value) for attribute in op.attributes["indexing_maps"]]
    count = op.attributes["indexing_maps"][0].value.n_dims
    m, n, k = _inner_sizes(op, operands, outer)
    between = loop_dims(builder, count, operands, _whole(builder, operands, outer), 1)
    tile = (
        Dim(extent=m, kind="parallel"),
        Dim(extent=n, kind="parallel"),
        Dim(extent=k, kind="reduction"),
    )
    sides = ((count, count + 2), (count + 1, count + 2), (count, count + 1))
    places = [_tile(builder, *each) for each in zip(operands, outer, sides, strict=True)]
    reads = [builder.read(value, place) for value, place in zip(operands[:2], places, strict=False)]
    old = builder.read(operands[2], places[2]) if _is_made(builder, operands[2]) else None
    result = op.results[0] if len(op.results) else operands[2]
    accumulator = element_of(operands[2])
    contraction = _contraction(outer, count, [element_of(value) for value in operands])
    builder.emit(
        op,
        (*between, *tile),
        (*reads, old),
        (builder.write(result, places[2]),),
        (Work(kind="madd", element=accumulator),),
        contraction=contraction if None not in reads else None,
    )


def _inner_sizes(
    op: ir.Operation, operands: list[ir.Value], outer: list[Position]
) -> tuple[int, int, int]:
    """Rows, columns and depth of one tile, from the tiles' sizes m k, n k and m n."""
    areas = []
    for value, position in zip(operands, outer, strict=True):
        sizes = value.type.shape[len(position) :]
        if ir.ShapedType.get_dynamic_size() in sizes:
            raise Unreadable(f"{op.name} on tiles of unknown size")
        areas.append(prod(sizes))
    lhs, rhs, out = areas
    m = isqrt(lhs * out // rhs) if rhs else 0
    if not m or m * m * rhs != lhs * out or lhs % m or out % m:
        raise Unreadable(f"{op.name} on tiles of {lhs}, {rhs} and {out} elements")
    return m, out // m, lhs // m


def _whole(
    builder: KernelBuilder, operands: list[ir.Value], outer: list[Position]
) -> list[Position]:
    """Positions with a place for every dimension, as `loop_dims` asks for."""
    return [
        (*position, *(Index() for _ in builder.shape(value)[len(position) :]))
        for value, position in zip(operands, outer, strict=True)
    ]


def _tile(
    builder: KernelBuilder, value: ir.Value, position: Position, sides: tuple[int, int]
) -> Position:
    """Position of an operand: along each dimension of its tile both sides move."""
    rest: tuple[Size, ...] = builder.shape(value)[len(position) :]
    inside = Index(terms=tuple((dim, 1) for dim in sides))
    return (*position, *(inside if size != 1 else Index() for size in rest))


def _is_made(builder: KernelBuilder, value: ir.Value) -> bool:
    """Whether the sum starts from an array rather than from a constant."""
    return builder.view(value).tensor is not None


def _contraction(outer: list[Position], count: int, elements: list[str]) -> Contraction:
    lhs, rhs, out = (frozenset(walk_dims(position)) for position in outer)
    return Contraction(
        batch=tuple(sorted(lhs & rhs & out)),
        m=(*sorted((lhs & out) - rhs), count),
        n=(*sorted((rhs & out) - lhs), count + 1),
        k=(*sorted((lhs & rhs) - out), count + 2),
        lhs=0,
        rhs=1,
        lhs_element=elements[0],
        rhs_element=elements[1],
        accumulator=elements[2],
    )


READERS: dict[str, Reader] = {"iree_codegen.inner_tiled": read_inner_tiled}
