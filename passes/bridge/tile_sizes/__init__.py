"""Tile sizes as the IR spells them: one file a spelling, chosen by the attribute's name.

To add a spelling, write a file with a `parse(text) -> levels` and enter it in `SPELLINGS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from iree.compiler import ir

from xpu_shark.passes.bridge.tile_sizes import codegen, iree_gpu, llvm_cpu
from xpu_shark.simulator.workload import Dim, TileLevel

Levels = tuple[tuple[str, tuple[int, ...]], ...]
SPELLINGS: dict[str, Callable[[str], Levels]] = {
    "#iree_cpu.lowering_config": llvm_cpu.parse,
    "#iree_gpu.lowering_config": iree_gpu.parse,
    "#iree_codegen.lowering_config": codegen.parse,
}


def read_tiles(
    op: ir.Operation, loops: Sequence[int], dims: Sequence[Dim] = ()
) -> tuple[TileLevel, ...]:
    """The levels of `op`'s `lowering_config`, a size for each of the op's `loops` asked for.

    A level that lists fewer loops leaves the rest whole; where `dims` are all loops of the op, one
    size in place of several reductions is that of their product (a convolution that is tiled as
    the matrix product of its unrolled windows). An unknown spelling reads as no tiles.
    """
    if not loops or "lowering_config" not in op.attributes:
        return ()
    levels = parse_levels(str(op.attributes["lowering_config"]))
    if _is_flattened(levels, dims):
        levels = tuple((name, _unflattened(sizes, dims)) for name, sizes in levels)
    return tuple(
        TileLevel(name=name, sizes=tuple(sizes[i] if i < len(sizes) else 0 for i in loops))
        for name, sizes in levels
    )


@cache
def parse_levels(text: str) -> Levels:
    """Levels of a `lowering_config` by name, as written."""
    parse = SPELLINGS.get(text.partition("<")[0])
    return () if parse is None else parse(text)


def _is_flattened(levels: Levels, dims: Sequence[Dim]) -> bool:
    """Whether sizes are for the parallel loops, which come first, and one reduction."""
    free = sum(dim.kind == "parallel" for dim in dims)
    listed = {len(sizes) for _, sizes in levels}
    first = all(dim.kind == "parallel" for dim in dims[:free])
    return first and listed == {free + 1} and len(dims) > free + 1


def _unflattened(sizes: Sequence[int], dims: Sequence[Dim]) -> tuple[int, ...]:
    """The last size handed out to the reductions, innermost filled first."""
    *kept, size = sizes
    inner: list[int] = []
    for dim in reversed(dims[len(kept) :]):
        if not size or not isinstance(dim.extent, int):
            inner.append(size)
            continue
        inner.append(min(size, dim.extent))
        size = -(-size // dim.extent)
    return (*kept, *reversed(inner))
