"""Binomial tree: whoever has the data sends it on, so their number doubles every step.

A broadcast takes ceil(log2 p) (a + n / B); an all-reduce is a reduction and a broadcast.
"""

from __future__ import annotations

from xpu_shark.simulator.collectives import tree
from xpu_shark.simulator.collectives.schedule import Schedule
from xpu_shark.simulator.network import Fabric


def schedule(kind: str, fabric: Fabric) -> Schedule:
    p = fabric.devices
    steps = [
        [(n, n + (1 << step)) for n in range(1 << step) if n + (1 << step) < p]
        for step in range((p - 1).bit_length())
    ]
    return Schedule(p, (tree.lane(kind, steps),))
