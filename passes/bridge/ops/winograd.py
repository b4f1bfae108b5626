"""Winograd transforms, of IREE and of linalg: small matrix products on both sides of a tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from iree.compiler import ir

from xpu_shark.passes.bridge.indexing import Position, added, along, scaled
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader, element_of
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import apply, product
from xpu_shark.simulator.workload import Dim, Index, Work

Which = Literal["input", "filter", "output"]
# linalg's F(m, r) enumeration: outputs and filter taps of one tile.
_FMR = ((2, 3), (4, 3), (2, 5))


@dataclass(frozen=True)
class _Transform:
    """`plain[i]` is the loop dim of image or filter dimension i, or its (tile, inside) pair."""

    which: Which
    outputs: int
    taps: int
    plain: tuple[int | tuple[int, int], ...]


def read_iree(builder: KernelBuilder, op: ir.Operation) -> None:
    """`iree_linalg_ext.winograd.*`: tiles are [t, t, N, H', W', C] and [t, t, C, F]."""
    which = _which(op)
    name = "kernel_dimensions" if which == "filter" else "image_dimensions"
    sides = list(op.attributes[name])
    rank = len(builder.shape(_plain(op, which)))
    if which == "filter":
        others = iter((2, 3) if sides == [0, 1] else (3, 2))
        plain = tuple(sides.index(dim) if dim in sides else next(others) for dim in range(rank))
        _emit(builder, op, _Transform(which, *_sizes(op), plain))
        return
    others = iter((2, 5))
    pairs = {dim: (3 + number, number) for number, dim in enumerate(sides)}
    image = tuple(pairs[dim] if dim in pairs else next(others) for dim in range(rank))
    _emit(builder, op, _Transform(which, *_sizes(op), image))


def read_linalg(builder: KernelBuilder, op: ir.Operation) -> None:
    """`linalg.winograd_*`: tiles are [t, t, H', W', N, C] and [t, t, C, F]."""
    which = _which(op)
    plain: tuple[int | tuple[int, int], ...] = (4, (2, 0), (3, 1), 5)
    if which == "filter":
        plain = (3, 0, 1, 2)
    _emit(builder, op, _Transform(which, *_FMR[op.attributes["fmr"].value], plain))


def _emit(builder: KernelBuilder, op: ir.Operation, transform: _Transform) -> None:
    """One nest over the transformed array; `points` counts the true multiply-adds."""
    source, target = op.operands
    result = op.results[0] if len(op.results) else target
    tiles, plain = (source, result) if transform.which == "output" else (result, source)
    shape = builder.shape(tiles)
    here = along(*range(len(shape)))
    there = _plain_position(transform)
    read = builder.read(source, here if tiles is source else there)
    write = builder.write(result, there if tiles is source else here)
    work = (Work(kind="madd", element=element_of(plain)),)
    points = product((*shape[2:], _multiply_adds(transform, shape[0], shape[1])))
    dims = (Dim(extent=size, kind="parallel") for size in shape)
    builder.emit(op, dims, (read,), (write,), work, points=points, loops=())


def _multiply_adds(transform: _Transform, height: Size, width: Size) -> Size:
    """Of one tile: the left product, then the right one; a side of length 1 has none.

    Input: t x t from t x t; filter: t x t from r x r; output: m x m from t x t.
    """
    rows, from_rows = _lengths(transform, height)
    columns, from_columns = _lengths(transform, width)
    left = 0 if height == 1 else product((rows, from_rows, from_columns))
    right = 0 if width == 1 else product((rows, from_columns, columns))
    return apply("add", left, right)


def _lengths(transform: _Transform, side: Size) -> tuple[Size, Size]:
    """Rows that one side produces and consumes."""
    if side == 1:
        return 1, 1
    outer = {"input": side, "filter": side, "output": transform.outputs}[transform.which]
    inner = {"input": side, "filter": transform.taps, "output": side}[transform.which]
    return outer, inner


def _plain_position(transform: _Transform) -> Position:
    def place(dims: int | tuple[int, int]) -> Index:
        if isinstance(dims, int):
            return along(dims)[0]
        tile, inside = along(*dims)
        return added(scaled(tile, transform.outputs), inside)

    return tuple(place(dims) for dims in transform.plain)


def _which(op: ir.Operation) -> Which:
    names: Sequence[Which] = ("input", "filter", "output")
    return next(name for name in names if name in op.name)


def _plain(op: ir.Operation, which: Which) -> ir.Value:
    return op.operands[1] if which == "output" else op.operands[0]


def _sizes(op: ir.Operation) -> tuple[int, int]:
    return op.attributes["output_tile_size"].value, op.attributes["kernel_size"].value


READERS: dict[str, Reader] = {
    **{
        f"iree_linalg_ext.winograd.{which}_transform": read_iree
        for which in ("input", "filter", "output")
    },
    **{
        f"linalg.winograd_{which}_transform": read_linalg for which in ("input", "filter", "output")
    },
}
