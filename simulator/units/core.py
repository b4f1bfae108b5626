"""The inner kernels of a CPU core: cycles of loops whose bodies a compiler unrolled to a tile.

A core issues vector instructions in no fixed order, so what counts is the busiest port (arithmetic,
loads, stores) or, where a result is added to again and again, the latency of that chain: the port
model of llvm-mca and of the ECM papers (Hofmann et al., 2018). All costs are cycles per vector of
`lanes` results of 32 bits unless said otherwise.
"""

from __future__ import annotations

import msgspec

from xpu_shark.simulator.target import Core, Target
from xpu_shark.simulator.units.cost import ceildiv


class Product(msgspec.Struct, frozen=True):
    """One reduction step of a register tile: `rows` broadcast values times `columns` results next
    to each other; of these, `swapped` are brought into lane order and `gathered` fetched one by
    one first, each at `gather_cycles`."""

    rows: int
    columns: int
    swapped: int = 0
    gathered: int = 0
    gather_cycles: float = 0.0


def vectors(target: Target, columns: int, width: int) -> int:
    """Registers that hold `columns` results of `width` bits (32 at least, as they are computed)."""
    return ceildiv(columns * max(width, 32), target.vector.lanes * 32)


def product_cycles(target: Target, core: Core, step: Product, element: str, width: int) -> float:
    """One step: as many multiply-adds as the tile has registers, a load for each row and for each
    register of the other operand; accumulators past the registers go to memory and back."""
    across = vectors(target, step.columns, width)
    held = step.rows * across
    spilled = max(0, held + across + 1 - core.registers)
    busy = max(
        held * madd_cycles(core, element),
        (step.rows + across) * core.load_cycles + step.gathered * step.gather_cycles,
        step.swapped * core.swap_cycles,
        latency(core, "madd"),
    )
    return busy + spilled * core.spill_cycles


def madd_cycles(core: Core, element: str) -> float:
    """Of one register of results, at the type that the product is stored in."""
    return core.madd_cycles.get(element, core.madd_cycles["default"])


def gather_cycles(core: Core, element: str) -> float:
    """Of one element fetched on its own: narrow ones go through memory to their lanes."""
    return core.gather_cycles.get(element, core.gather_cycles["default"])


def fold_cycles(core: Core, kind: str, rows: int) -> float:
    """Of one element added up along its row, `rows` rows at a time: lane by lane, in order."""
    busy = core.fold_cycles.get(kind, core.fold_cycles["default"])
    return max(busy, latency(core, kind) / max(rows, 1))


def latency(core: Core, kind: str) -> float:
    """Cycles until the next operation of a chain can take the result."""
    return core.latency_cycles.get(kind, core.latency_cycles["default"])
