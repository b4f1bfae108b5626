"""Torus: a ring along one axis, then along the next on what is left.

`per_axis` uses one axis at a time, both ways. `all_axes` cuts the payload into one lane an axis and
direction, which take the axes in rotated order: all links work all the time (Jain, Sabharwal,
"Optimal bucket algorithms for large MPI collectives on torus interconnects", ICS 2010). On k axes
of p^(1/k) devices an all-gather takes k (p^(1/k) - 1) a + (p - 1) / p n / (2 k B).
"""

from __future__ import annotations

from xpu_shark.simulator.collectives import axes
from xpu_shark.simulator.collectives.schedule import Schedule
from xpu_shark.simulator.network import Fabric


def per_axis(kind: str, fabric: Fabric) -> Schedule | None:
    return _schedule(kind, fabric, rotations=1)


def all_axes(kind: str, fabric: Fabric) -> Schedule | None:
    return _schedule(kind, fabric, rotations=len(fabric.levels))


def _schedule(kind: str, fabric: Fabric, rotations: int) -> Schedule | None:
    """None where the fabric is no torus of two axes or more."""
    levels = fabric.levels
    if len(levels) < 2 or any(level.kind != "ring" and level.extent > 2 for level in levels):
        return None
    number = len(levels)
    lanes = tuple(
        axes.lane(
            kind,
            fabric.dims,
            tuple((first + axis) % number for axis in range(number)),
            (axes.RING,) * number,
            sign,
        )
        for first in range(rotations)
        for sign in (1, -1)
    )
    return Schedule(fabric.devices, lanes)
