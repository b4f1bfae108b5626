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
    one first, each at `gather_cycles`. The register tile takes `length` such steps, one after
    another."""

    rows: int
    columns: int
    length: int
    swapped: int = 0
    gathered: int = 0
    gather_cycles: float = 0.0


def vectors(target: Target, columns: int, width: int) -> int:
    """Registers that hold `columns` results of `width` bits (32 at least, as they are computed)."""
    return ceildiv(columns * max(width, 32), target.vector.lanes * 32)


def filled(target: Target, core: Core, columns: int, width: int) -> float:
    """Their cost in full registers: compilers take shorter ones for half a register or less."""
    half = 2 * columns * max(width, 32) <= target.vector.lanes * 32
    return core.half_share if half else vectors(target, columns, width)


def product_cycles(target: Target, core: Core, step: Product, element: str, width: int) -> float:
    """One step: as many multiply-adds as the tile has registers, a load for each row and for each
    register of the other operand; accumulators past the registers go to memory and back."""
    across = vectors(target, step.columns, width)
    spilled = max(0, step.rows * across + across + 1 - core.registers)
    cost = filled(target, core, step.columns, width)
    loads = step.rows * core.load_cycles + cost * vector_load_cycles(core)
    madds = step.rows * cost * madd_cycles(core, element)
    shuffles = step.swapped * shuffle_cycles(core)
    wait = core.latency_cycles.get(element, latency(core, "madd"))
    busy = max(
        max(madds, shuffles) + core.shuffle_share * min(madds, shuffles),
        loads + step.gathered * step.gather_cycles,
        _chain(wait, madds_ahead(core, element), step.length, step.rows * across),
    )
    return busy + spilled * core.spill_cycles


def vector_load_cycles(core: Core) -> float:
    """Of one full register loaded or stored."""
    return core.load_cycles / core.half_share


def madd_cycles(core: Core, element: str) -> float:
    """Of one register of results, at the type that the product is stored in."""
    return core.madd_cycles.get(element, core.madd_cycles["default"])


def shuffle_cycles(core: Core) -> float:
    """Of one element of a product that goes to another lane."""
    return core.swap_cycles if core.shuffle_cycles is None else core.shuffle_cycles


def gather_cycles(core: Core, element: str) -> float:
    """Of one element fetched on its own: narrow ones go through memory to their lanes."""
    return core.gather_cycles.get(element, core.gather_cycles["default"])


def fold_cycles(core: Core, kind: str, rows: int, length: int) -> float:
    """Of one element added up along its row of `length`, `rows` rows at a time: lane by lane, in
    order."""
    busy = core.fold_cycles.get(kind, core.fold_cycles["default"])
    return max(busy, chain_cycles(core, kind, length, rows) / max(rows, 1))


def chain_cycles(core: Core, kind: str, length: int, beside: int) -> float:
    """Of one step of a chain of `length` that has `beside` like it in flight. A core looks ahead as
    far as its scheduler goes, `window` operations: the next chains begin before this one ends,
    and of a short one little is left to wait for."""
    return _chain(latency(core, kind), window(core, kind), length, beside)


def _chain(wait: float, ahead: float, length: int, beside: int) -> float:
    return wait * length / (length + ahead / max(beside, 1))


def window(core: Core, kind: str) -> float:
    """Operations that a core looks ahead."""
    return core.window.get(kind, core.window.get("default", 0.0))


def madds_ahead(core: Core, element: str) -> float:
    """Multiply-adds of a type that a core looks ahead: one that takes longer is more operations."""
    slower = madd_cycles(core, element) / madd_cycles(core, "default")
    return window(core, "madd") / max(slower, 1.0)


def latency(core: Core, kind: str) -> float:
    """Cycles until the next operation of a chain can take the result."""
    return core.latency_cycles.get(kind, core.latency_cycles["default"])
