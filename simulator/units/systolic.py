"""A weight-stationary systolic array: one block of weights stays while activations stream past."""

from __future__ import annotations

from xpu_shark.simulator.target import Systolic, Target
from xpu_shark.simulator.units.cost import NONE, Cost, ceildiv


def tile_cost(
    target: Target, unit: Systolic, *, batch: int, m: int, n: int, k: int, element: str
) -> Cost:
    """`batch` products of m x k by k x n; `element` is a key of `cycles_per_row`.

    Each pass holds up to `rows` x `cols` weights and streams m rows; it lasts at least as long as
    the weights of the next pass take to load, and swapping them in costs `pass_cycles` more. Every
    array has as many of the passes with less than `rows` of k as any other. Latency is the first
    load, then fill and drain: what enters moves on by a cell with the next row, or a cycle later.
    """
    if 0 in (batch, m, n, k):
        return NONE
    rounds, streamed = _schedule(unit, m, batch * _blocks(unit, n, k))
    stream, load = streamed * unit.cycles_per_row[element], unit.weight_cycles_per_row
    whole, rest = divmod(k, unit.rows)
    passes = whole * max(stream, unit.rows * load) + (max(stream, rest * load) if rest else 0.0)
    cycles = rounds * (passes / ceildiv(k, unit.rows) + unit.pass_cycles)
    first = min(k, unit.rows) * load
    pace = min(unit.cycles_per_row[element], 1.0)
    return Cost(target.ps(cycles), target.ps(first + (unit.rows + unit.cols) * pace))


def padded_macs(unit: Systolic, *, batch: int, m: int, n: int, k: int) -> int:
    """Multiply-adds that the cells spend, idle rows and columns of a block included."""
    return batch * m * _blocks(unit, n, k) * unit.rows * unit.cols


def macs_per_cycle(unit: Systolic, element: str) -> float:
    """Peak of all arrays of one core."""
    return unit.count * unit.rows * unit.cols / unit.cycles_per_row[element]


def _blocks(unit: Systolic, n: int, k: int) -> int:
    return ceildiv(k, unit.rows) * ceildiv(n, unit.cols)


def _schedule(unit: Systolic, m: int, passes: int) -> tuple[int, int]:
    """Passes one array makes, and rows each streams: arrays left over share the rows."""
    if passes >= unit.count:
        return ceildiv(passes, unit.count), m
    return 1, ceildiv(m, unit.count // passes)
