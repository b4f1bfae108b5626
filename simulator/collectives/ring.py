"""Ring: every device passes parts on to its neighbour, one way, or halves of them both ways.

An all-reduce of n bytes on p devices takes 2 (p - 1) (a + n / (p B)) at latency a and bandwidth B
(Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms", 2009), half the bandwidth term where
both directions of the links are used.
"""

from __future__ import annotations

from xpu_shark.simulator.collectives import axes
from xpu_shark.simulator.collectives.cycle import cycle
from xpu_shark.simulator.collectives.schedule import Alike, Phase, Place, Schedule
from xpu_shark.simulator.network import Fabric

PERMUTE = "send_recv"


def one_way(kind: str, fabric: Fabric) -> Schedule:
    return _schedule(kind, fabric, (1,))


def both_ways(kind: str, fabric: Fabric) -> Schedule | None:
    """None where the links lead one way only."""
    if fabric.devices < 3 or any(level.kind == "ring_one_way" for level in fabric.levels):
        return None
    return _schedule(kind, fabric, (1, -1))


def shift(kind: str, fabric: Fabric) -> Schedule:
    """A permutation: every device sends its payload to the next one."""
    p = fabric.devices
    phase = Phase(1, 0, 1, 0, (Place(0),), reduce=False, chained=True)
    order = cycle(fabric)
    lanes = (Alike((p,), (p,), (phase,)),)
    return Schedule(p, lanes, order or (), disjoint=order is not None, copies=p)


def _schedule(kind: str, fabric: Fabric, signs: tuple[int, ...]) -> Schedule:
    p, order = fabric.devices, cycle(fabric)
    lanes = tuple(axes.lane(kind, (p,), (0,), (axes.RING,), sign) for sign in signs)
    return Schedule(p, lanes, order or (), disjoint=order is not None)
