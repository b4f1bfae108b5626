"""Transfers between a memory and a core: set-up, bursts, latency, and two limits on the rate."""

from __future__ import annotations

from xpu_shark.simulator.target import PS_PER_S, Memory, Target
from xpu_shark.simulator.units.cost import NONE, Cost, ceildiv, picoseconds


def transfer_cost(target: Target, level: Memory, *, bytes: int, runs: int, run_bytes: int) -> Cost:
    """`bytes` to or from `level` by one core alone, in `runs` contiguous runs of `run_bytes`.

    Service is the set-up and the moved bytes at the slower of the level's rate and what one core
    draws; the data arrive the level's latency later.
    """
    moved = moved_bytes(level, bytes=bytes, runs=runs, run_bytes=run_bytes)
    if not moved:
        return NONE
    rate = min(level.bytes_per_s, level.core_bytes_per_s or level.bytes_per_s)
    service = picoseconds(target.dma.setup_ns) + _transfer_ps(moved, rate)
    return Cost(service, picoseconds(level.latency_ns))


def occupancy_ps(level: Memory, moved: int) -> int:
    """How long the level itself is taken by `moved` bytes: what cores that share it wait for."""
    return _transfer_ps(moved, level.bytes_per_s)


def moved_bytes(level: Memory, *, bytes: int, runs: int, run_bytes: int) -> int:
    """Bytes on the wires: every run fills whole bursts. With `runs` 0 it is one run of `bytes`."""
    if not bytes:
        return 0
    if not runs or not run_bytes:
        runs, run_bytes = 1, bytes
    return max(bytes, runs * ceildiv(run_bytes, level.burst_bytes) * level.burst_bytes)


def _transfer_ps(moved: int, bytes_per_s: float) -> int:
    return -int(-moved * PS_PER_S // bytes_per_s)
