"""Hierarchical: scatter inside a group, work across groups on one device's share, gather inside.

Only 1/k of the payload crosses the slow network between groups of k devices. Levels that are rings
run a ring; behind a switch or fully connected, devices send directly while they are few.
"""

from __future__ import annotations

from xpu_shark.simulator.collectives import axes
from xpu_shark.simulator.collectives.axes import Pattern
from xpu_shark.simulator.collectives.schedule import Schedule
from xpu_shark.simulator.network import Fabric, Level

FEW = 16  # f - 1 direct messages take no more latency than a ring's f - 1 steps, nor more bytes


def schedule(kind: str, fabric: Fabric) -> Schedule | None:
    """None where there is one level only."""
    if len(fabric.levels) < 2:
        return None
    patterns = tuple(_pattern(level) for level in fabric.levels)
    order = tuple(range(len(patterns)))
    return Schedule(fabric.devices, (axes.lane(kind, fabric.dims, order, patterns),))


def _pattern(level: Level) -> Pattern:
    return "direct" if level.kind in ("switch", "full") and level.extent <= FEW else "ring"
