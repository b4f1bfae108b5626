"""Chain: a broadcast or reduction from neighbour to neighbour, pipelined in chunks.

A broadcast of n bytes in c chunks takes (p - 1) a + (p - 2 + c) n / (c B): with many chunks every
link carries the payload once, at the price of p - 1 latencies. Also single sends.
"""

from __future__ import annotations

from xpu_shark.simulator.collectives import tree
from xpu_shark.simulator.collectives.cycle import cycle
from xpu_shark.simulator.collectives.schedule import Listed, Schedule, Transfer
from xpu_shark.simulator.network import Fabric


def schedule(kind: str, fabric: Fabric) -> Schedule:
    p = fabric.devices
    lane = tree.lane(kind, [((n, n + 1),) for n in range(p - 1)])
    return Schedule(p, (lane,), _from_zero(cycle(fabric)))


def point_to_point(kind: str, fabric: Fabric) -> Schedule:
    """One device to its neighbour."""
    return Schedule(fabric.devices, (Listed(1, ((Transfer(0, 1, (0,)),),)),))


def _from_zero(order: tuple[int, ...] | None) -> tuple[int, ...]:
    """The same walk begun at device 0, which is the root."""
    if order is None:
        return ()
    start = order.index(0)
    return order[start:] + order[:start]
