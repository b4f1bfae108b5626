"""Tile sizes as the IR spells them: one file a spelling, chosen by the attribute's name.

To add a spelling, write a file with a `parse(text) -> levels` and enter it in `SPELLINGS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from iree.compiler import ir

from xpu_shark.passes.bridge.tile_sizes import codegen, iree_gpu, llvm_cpu
from xpu_shark.simulator.workload import TileLevel

Levels = tuple[tuple[str, tuple[int, ...]], ...]
SPELLINGS: dict[str, Callable[[str], Levels]] = {
    "#iree_cpu.lowering_config": llvm_cpu.parse,
    "#iree_gpu.lowering_config": iree_gpu.parse,
    "#iree_codegen.lowering_config": codegen.parse,
}


def read_tiles(op: ir.Operation, loops: Sequence[int]) -> tuple[TileLevel, ...]:
    """The levels of `op`'s `lowering_config`, a size for each of the op's `loops` asked for.

    A level that lists fewer loops leaves the rest whole. An unknown spelling reads as no tiles.
    """
    if not loops or "lowering_config" not in op.attributes:
        return ()
    return parse_tiles(str(op.attributes["lowering_config"]), tuple(loops))


@cache
def parse_tiles(text: str, loops: tuple[int, ...]) -> tuple[TileLevel, ...]:
    """As `read_tiles`, from the attribute's text."""
    parse = SPELLINGS.get(text.partition("<")[0])
    if parse is None:
        return ()
    return tuple(
        TileLevel(name=name, sizes=tuple(sizes[i] if i < len(sizes) else 0 for i in loops))
        for name, sizes in parse(text)
    )
