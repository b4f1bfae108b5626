"""Fixed costs of starting work: each launch on the device, each batch of launches on the host."""

from __future__ import annotations

from xpu_shark.simulator.target import Target

PS_PER_NS = 1000


def launch_ps(target: Target, launches: int = 1) -> int:
    """Device time that `launches` of any kernel take before they do any work."""
    return launches * -int(-target.launch_ns * PS_PER_NS // 1)


def submit_ps(target: Target, submissions: int = 1) -> int:
    """Host time before the first launch of each batch of launches starts."""
    return submissions * -int(-target.submit_ns * PS_PER_NS // 1)
