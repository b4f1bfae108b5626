"""What a transfer of one operand tile costs on each hop between main memory and the cores."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.footprint import Region, region
from xpu_shark.simulator.gang import Variant
from xpu_shark.simulator.target import PS_PER_S, Memory, Target
from xpu_shark.simulator.units import dma
from xpu_shark.simulator.units.cost import picoseconds
from xpu_shark.simulator.workload import Access


class Transfer(msgspec.Struct, frozen=True):
    """One instruction on one hop: `bytes` on the level's wires."""

    service_ps: int
    latency_ps: int
    bytes: int


def transfer(
    kernel: BoundKernel,
    nest: BoundNest,
    access: Access,
    target: Target,
    level: Memory,
    variants: tuple[Variant, ...],
    part: Fraction,
) -> Transfer:
    """Move the tile of `access` for all cores of a wave over the hop that `level` serves.

    `part` of the data is different from core to core and really moves; no core draws more than
    its own rate.
    """
    total, largest = 0, 0
    for variant in variants:
        size = moved(level, tile_region(kernel, nest, access, variant.extents))
        total += size * variant.cores
        largest = max(largest, size)
    shared = max(-(-total * part.numerator // part.denominator), largest if part else 0)
    if not shared:
        return Transfer(0, 0, 0)
    service = max(dma.occupancy_ps(level, shared), _core_ps(level, largest))
    setup = picoseconds(target.dma.setup_ns)
    return Transfer(service + setup, picoseconds(level.latency_ns), shared)


def tile_region(
    kernel: BoundKernel, nest: BoundNest, access: Access, extents: tuple[int, ...]
) -> Region:
    """The part of the tensor that the nest's tile touches; `extents` is one an axis."""
    return region(kernel.tensors[access.tensor], access, [extents[axis] for axis in nest.axes])


def moved(level: Memory, part: Region) -> int:
    """Bytes on the level's wires: every contiguous run takes whole bursts."""
    return dma.moved_bytes(level, bytes=part.bytes, runs=part.runs, run_bytes=part.run_bytes)


def _core_ps(level: Memory, bytes: int) -> int:
    rate = level.core_bytes_per_s
    return 0 if rate is None else -int(-bytes * PS_PER_S // rate)
