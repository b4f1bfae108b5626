"""Costs of starting work: each launch and workgroup on the device, each batch on the host."""

from __future__ import annotations

from xpu_shark.simulator.target import Target
from xpu_shark.simulator.units.cost import picoseconds


def launch_ps(target: Target, launches: int = 1) -> int:
    """Device time that `launches` of any kernel take before they do any work."""
    return launches * picoseconds(target.launch_ns)


def workgroups_ps(target: Target, workgroups: int) -> int:
    """Device time to start so many workgroups, wherever they run."""
    return picoseconds(workgroups * target.workgroup_ns)


def host_call_ps(target: Target, kind: str | None) -> tuple[int, int]:
    """(host time before the first launch of a batch starts, host time of the whole call), where
    the batch is an operator of this kind (`operator_kind`)."""
    call = getattr(target.submit, kind) if kind else None
    if call is None:
        return picoseconds(target.submit_ns), 0
    return picoseconds(call.before_ns), picoseconds(call.call_ns)
