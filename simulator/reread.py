"""What a cache still has of an operand when the same workgroup reads it again, pass after pass.

Kernels that work on a row longer than a core keeps read it once for each pass over it. Between
two reads, all workgroups at work bring in their rows and results.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, prod

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.footprint import accesses, region
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.target import Target

STEPS = 1024  # shares are rounded to so many parts, so that every machine gets the same


def missed(kernel: BoundKernel, tiling: Tiling, target: Target) -> Fraction:
    """Share of a second read that comes from main memory, not from the cache next to it.

    Lines leave the cache at random, as a GPU's L2 has no strict order: a line is still there after
    n misses with probability (1 - 1/C)^n. Where D bytes pass between two reads, a share m of
    them misses, so n = m D and 1 - m = exp(-m D / C). Below D = C nothing misses.
    """
    tiles = prod(-(-kernel.axes[axis].extent // max(tiling.tile[axis], 1)) for axis in tiling.order)
    size = _workgroup_bytes(kernel, tiling) * min(tiles, target.cores * target.workgroups)
    load = size / target.memory[1].bytes
    share = float(load > 1)
    for _ in range(100):
        share = 1 - exp(-load * share)
    return Fraction(round(share * STEPS), STEPS)


def _workgroup_bytes(kernel: BoundKernel, tiling: Tiling) -> int:
    """Bytes of main memory that one workgroup touches, each once."""
    found: dict[tuple[int, bool], int] = {}
    for nest in kernel.nests:
        tile = _tile(kernel, nest, tiling)
        for access, written in accesses(nest):
            if kernel.tensors[access.tensor].is_global:
                size = region(kernel.tensors[access.tensor], access, tile).bytes
                key = (access.tensor, written)
                found[key] = max(found.get(key, 0), size)
    return sum(found.values())


def _tile(kernel: BoundKernel, nest: BoundNest, tiling: Tiling) -> list[int]:
    """Iterations of each loop dim in one workgroup: its tile along the axes that are shared out."""
    extents = [axis.extent for axis in kernel.axes]
    for axis in tiling.order:
        extents[axis] = min(tiling.tile[axis], extents[axis])
    return [extents[axis] for axis in nest.axes]
