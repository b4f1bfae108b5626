"""Sends along any permutation: every pair at once, each by its own way through the network."""

from __future__ import annotations

from xpu_shark.simulator.collectives.schedule import Listed, Schedule, Transfer
from xpu_shark.simulator.network import Fabric

Pairs = tuple[tuple[int, int], ...]  # (who sends, who receives)


def schedule(pairs: Pairs, fabric: Fabric) -> Schedule:
    """Block i is device i's payload. A device that sends to itself needs no network."""
    p = fabric.devices
    transfers = tuple(Transfer(a, b, (a,)) for a, b in pairs if a != b)
    return Schedule(p, (Listed(p, (transfers,)),), copies=p)


def is_shift(pairs: Pairs, devices: int) -> bool:
    """Whether every device sends to the next one around."""
    return set(pairs) == {(n, (n + 1) % devices) for n in range(devices)}
