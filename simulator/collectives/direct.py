"""Direct: every device sends each part straight to where it belongs.

p - 1 messages a device and one latency: an all-gather takes a + (p - 1) / p n / B where messages
share a link, a + n / (p B) where there is a link to every peer; an all-reduce twice that.
"""

from __future__ import annotations

from xpu_shark.simulator.collectives import axes
from xpu_shark.simulator.collectives.halving import copies
from xpu_shark.simulator.collectives.schedule import Schedule
from xpu_shark.simulator.network import Fabric

MOST = 256  # p - 1 messages from each of p devices: past this others are faster


def schedule(kind: str, fabric: Fabric) -> Schedule | None:
    """None for more than `MOST` devices, except all-to-all, which has to send that much."""
    p = fabric.devices
    if p > MOST and kind != axes.EXCHANGE:
        return None
    dims = fabric.dims if kind == axes.EXCHANGE and len(fabric.levels) > 1 else (p,)
    lane = axes.lane(kind, dims, tuple(range(len(dims))), (axes.DIRECT,) * len(dims))
    return Schedule(p, (lane,), copies=copies(kind, fabric))
