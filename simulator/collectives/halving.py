"""Recursive halving and doubling: exchange half of what is left with ever other partners.

2 log2(p) steps instead of a ring's 2 (p - 1), with the same bytes: for p a power of two an
all-reduce takes 2 log2(p) a + 2 (p - 1) / p n / B. Other sizes are factored into primes, and a
factor f is one step of f - 1 messages: no device is left over, and all do the same.
"""

from __future__ import annotations

from xpu_shark.simulator.collectives import axes
from xpu_shark.simulator.collectives.schedule import Schedule
from xpu_shark.simulator.network import Fabric

MOST = 256  # a prime number of devices sends that many messages a step: never worth while


def schedule(kind: str, fabric: Fabric) -> Schedule | None:
    """None where the size of a level has a prime factor past `MOST`."""
    dims = tuple(f for level in fabric.levels for f in factors(level.extent))
    if not dims or max(dims) > MOST:
        return None
    order = tuple(reversed(range(len(dims))))
    lane = axes.lane(kind, dims, order, (axes.DIRECT,) * len(dims))
    return Schedule(fabric.devices, (lane,), copies=copies(kind, fabric))


def copies(kind: str, fabric: Fabric) -> int:
    """All-to-all blocks are those of all devices' payloads."""
    return fabric.devices if kind == axes.EXCHANGE else 1


def factors(number: int) -> tuple[int, ...]:
    """Prime factors, smallest first."""
    found, factor = [], 2
    while factor * factor <= number:
        while number % factor == 0:
            found.append(factor)
            number //= factor
        factor += 1
    return (*found, *((number,) if number > 1 else ()))
