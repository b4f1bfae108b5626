"""`#iree_cpu.lowering_config<distribution = [64, 64, 0], vector_reduction = [0, 0, 8], ...>`."""

from __future__ import annotations

import re

# From the workgroup's share inwards, the order in which the compiler tiles.
LEVELS = (
    "distribution",
    "cache_parallel",
    "cache_reduction",
    "vector_common_parallel",
    "vector_reduction",
    "vector_inner_parallel",
)
_LEVEL = re.compile(r"(\w+) = \[([\d\[\], ]*)\]")


def parse(text: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Levels by name, outermost first; a scalable size `[4]` counts as 4."""
    found = {name: _sizes(sizes) for name, sizes in _LEVEL.findall(text)}
    return tuple((name, found[name]) for name in LEVELS if name in found)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in re.findall(r"\d+", text))
