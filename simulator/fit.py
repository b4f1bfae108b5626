"""Tile sizes that a user or the IR asks for, and the memory of the chip at hand: do they fit?"""

from __future__ import annotations

import msgspec

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.shrink import shrink


def fit(kernel: BoundKernel, tiling: Tiling, target: Target) -> tuple[Tiling, str]:
    """`tiling` as it can be run, and one line on what was not possible (else empty).

    Local tensors have gone to main memory before a tiling counts as too large
    (`residency.Residency`). One that still is gets halved until it fits; where even the smallest
    tiles do not, they are taken as if they did.
    """
    score = estimate(kernel, tiling, target)
    if score.fits:
        return tiling, ""
    level = target.memory[-1]
    problem = (
        f"tile {list(tiling.tile)} needs {score.used} B of {level.name}, "
        f"{score.capacity} B available"
    )
    smaller, now = shrink(kernel, tiling, target)
    if not now.fits:
        least = f"; so does every smaller one, down to {now.used} B" if smaller != tiling else ""
        return tiling, f"{problem}{least}: simulated as if it fitted"
    fitting = msgspec.structs.replace(smaller, source=tiling.source)
    return fitting, f"{problem}: simulated with tile {list(smaller.tile)}"


def pieces(kernel: BoundKernel, tiling: Tiling) -> str:
    """One line where rows that a nest needs whole are cut (else empty)."""
    for nest in kernel.nests:
        for axis, free in zip(nest.axes, nest.parallel, strict=True):
            extent, size = kernel.axes[axis].extent, tiling.tile[axis]
            if nest.whole and not free and size < extent:
                return (
                    f"rows of {extent} are sorted in pieces of {size}: merging them is not counted"
                )
    return ""
