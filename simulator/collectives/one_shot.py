"""One-shot all-reduce: everyone sends everything to everyone, each device adds it up.

One latency: a + (p - 1) n / B over a shared link, a + n / B with a link to every peer. The bytes
are p / 2 times a ring's, so it wins for small messages only.
"""

from __future__ import annotations

from xpu_shark.simulator.collectives.schedule import Alike, Phase, Schedule
from xpu_shark.simulator.network import Fabric

MOST = 64


def schedule(kind: str, fabric: Fabric) -> Schedule | None:
    """None for more than `MOST` devices."""
    p = fabric.devices
    if p > MOST:
        return None
    phase = Phase(p - 1, 0, 1, 1, (None,), reduce=True, chained=False)
    return Schedule(p, (Alike((p,), (1,), (phase,)),))
