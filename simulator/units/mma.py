"""Matrix instructions of a GPU core or a spatial tile: whole steps of m x n x k."""

from __future__ import annotations

from xpu_shark.simulator.target import Mma, Target
from xpu_shark.simulator.units.cost import NONE, Cost, ceildiv


def tile_cost(
    target: Target, unit: Mma, *, batch: int, m: int, n: int, k: int, element: str
) -> Cost:
    """`batch` products of m x k by k x n; `element` is a key of `macs_per_cycle`."""
    macs = padded_macs(unit, batch=batch, m=m, n=n, k=k)
    if not macs:
        return NONE
    return Cost(target.ps(macs / unit.macs_per_cycle[element]), target.ps(unit.latency_cycles))


def padded_macs(unit: Mma, *, batch: int, m: int, n: int, k: int) -> int:
    """Multiply-adds of the steps that cover the tile, edges filled up."""
    steps = ceildiv(m, unit.m) * ceildiv(n, unit.n) * ceildiv(k, unit.k)
    return batch * steps * unit.m * unit.n * unit.k


def macs_per_cycle(unit: Mma, element: str) -> float:
    """Peak of one core."""
    return unit.macs_per_cycle[element]
