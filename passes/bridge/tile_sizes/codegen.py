"""`#iree_codegen.lowering_config<tile_sizes = [[1, 64, 64], [1, 8, 8], [0, 0, 0, 4]]>`."""

from __future__ import annotations

import re

_LISTS = re.compile(r"tile_sizes = \[(.*)\]")
_LEVEL = re.compile(r"\[([^\[\]]*(?:\[\d+\][^\[\]]*)*)\]")


def parse(text: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Levels `level0`, `level1`, ... in the order written; an interchange is left out."""
    match = _LISTS.search(text)
    levels = _LEVEL.findall(match[1].partition("native_vector_size")[0]) if match else []
    return tuple(
        (f"level{number}", tuple(int(size) for size in re.findall(r"\d+", level)))
        for number, level in enumerate(levels)
    )
