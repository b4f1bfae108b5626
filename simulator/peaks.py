"""Data-sheet peaks, computed from a target's tables: nothing on the device can be faster."""

from __future__ import annotations

from xpu_shark.simulator.target import Memory, Target, TargetError
from xpu_shark.simulator.units import matrix, vector


def flops_per_s(target: Target, element: str) -> float:
    """Multiply-adds of the whole device, two operations each, on its best unit for the type."""
    ran_as = matrix.supports(target, element, element)
    if ran_as is None:
        return vector_flops_per_s(target, element)
    return 2 * matrix.macs_per_cycle(target, ran_as) * target.cores * target.clock_hz


def vector_flops_per_s(target: Target, element: str) -> float:
    """Multiply-adds of all vector units, two operations each."""
    return 2 * _vector_rate(target, "madd", element)


def vector_ops_per_s(target: Target, element: str) -> float:
    """Operations of default cost, as add or multiply, of all vector units."""
    return _vector_rate(target, "default", element)


def bytes_per_s(target: Target, memory: str) -> float:
    """Peak rate of a memory by name; of all cores' copies together for a private one."""
    level = level_named(target, memory)
    copies = 1 if level.shared else target.cores
    return copies * (level.peak_bytes_per_s or level.bytes_per_s)


def level_named(target: Target, memory: str) -> Memory:
    """The level of that name. Raises `TargetError` if the target has none."""
    for level in target.memory:
        if level.name == memory:
            return level
    known = ", ".join(level.name for level in target.memory)
    raise TargetError(f"target {target.name} has no memory {memory!r} (known: {known})")


def _vector_rate(target: Target, kind: str, element: str) -> float:
    cycles = vector.op_cycles(target.vector, kind, element)
    return target.vector.lanes * target.cores * target.clock_hz / cycles
