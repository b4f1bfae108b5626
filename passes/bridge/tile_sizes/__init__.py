"""Tile sizes as the IR spells them: one file a spelling, chosen by the attribute's name.

To add a spelling, write a file with a `parse(text) -> levels` and enter it in `SPELLINGS`.
"""

from __future__ import annotations

from collections.abc import Callable

from iree.compiler import ir

from xpu_shark.passes.bridge.tile_sizes import codegen, iree_gpu, llvm_cpu
from xpu_shark.simulator.workload import TileLevel

Levels = tuple[tuple[str, tuple[int, ...]], ...]
SPELLINGS: dict[str, Callable[[str], Levels]] = {
    "#iree_cpu.lowering_config": llvm_cpu.parse,
    "#iree_gpu.lowering_config": iree_gpu.parse,
    "#iree_codegen.lowering_config": codegen.parse,
}


def read_tiles(op: ir.Operation, dims: int) -> tuple[TileLevel, ...]:
    """The levels of `op`'s `lowering_config`, one size for each of its `dims` loops.

    A level that lists fewer leaves the rest whole. An unknown spelling reads as no tiles.
    """
    if "lowering_config" not in op.attributes:
        return ()
    return parse_tiles(str(op.attributes["lowering_config"]), dims)


def parse_tiles(text: str, dims: int) -> tuple[TileLevel, ...]:
    """As `read_tiles`, from the attribute's text."""
    parse = SPELLINGS.get(text.partition("<")[0])
    if parse is None:
        return ()
    return tuple(
        TileLevel(name=name, sizes=(*sizes[:dims], *[0] * (dims - len(sizes))))
        for name, sizes in parse(text)
    )
