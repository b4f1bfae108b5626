"""`#iree_gpu.lowering_config<{workgroup = [64, 128, 0], reduction = [0, 0, 16], ...}>`."""

from __future__ import annotations

import re

# From the workgroup's share inwards. Others that the attribute holds (mma_kind, lane_basis,
# promote_operands, ...) are not tile sizes.
LEVELS = ("workgroup", "reduction", "partial_reduction", "serial", "subgroup", "thread")
_LEVEL = re.compile(r"\b(\w+) = \[([\d, ]*)\]")


def parse(text: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Levels by name, outermost first.

    `subgroup` counts subgroups' tiles in units of the matrix instruction, as IREE writes it.
    """
    found = {
        name: tuple(map(int, sizes.split(","))) for name, sizes in _LEVEL.findall(text) if sizes
    }
    return tuple((name, found[name]) for name in LEVELS if name in found)
