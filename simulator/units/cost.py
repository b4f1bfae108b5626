"""What one piece of work costs on the unit that does it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """`service_ps`: how long the unit is taken; the result is there `latency_ps` after that."""

    service_ps: int
    latency_ps: int


NONE = Cost(service_ps=0, latency_ps=0)


PS_PER_NS = 1000


def picoseconds(nanoseconds: float) -> int:
    """Whole picoseconds, rounded up: a cost is never rounded away."""
    return -int(-nanoseconds * PS_PER_NS // 1)


def ceildiv(a: int, b: int) -> int:
    """`a / b` rounded up, for whole numbers."""
    return -(-a // b)
