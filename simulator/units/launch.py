"""Fixed costs of starting work: each launch on the device, each batch of launches on the host."""

from __future__ import annotations

from xpu_shark.simulator.target import Target
from xpu_shark.simulator.units.cost import picoseconds


def launch_ps(target: Target, launches: int = 1) -> int:
    """Device time that `launches` of any kernel take before they do any work."""
    return launches * picoseconds(target.launch_ns)


def submit_ps(target: Target, submissions: int = 1) -> int:
    """Host time before the first launch of each batch of launches starts."""
    return submissions * picoseconds(target.submit_ns)
