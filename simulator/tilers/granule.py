"""Sizes that a tile should be a multiple of: what the units take in one step."""

from __future__ import annotations

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.nest_cost import matrix_element
from xpu_shark.simulator.target import Mma, Systolic, Target


def granules(kernel: BoundKernel, target: Target) -> list[int]:
    """One an axis: the matrix unit's step for its axes, an instruction for an innermost one."""
    result = [1] * len(kernel.axes)
    for nest in kernel.nests:
        if matrix_element(target, nest.contraction) is not None:
            _matrix(nest, target, result)
        elif nest.axes:
            step = target.vector.width or target.vector.lanes
            result[nest.axes[-1]] = max(result[nest.axes[-1]], step)
    return [min(g, axis.extent) or 1 for g, axis in zip(result, kernel.axes, strict=True)]


def root(kernel: BoundKernel, target: Target) -> BoundNest:
    """The nest that tiles are chosen for: the first on the matrix unit, else the largest."""
    for nest in kernel.nests:
        if matrix_element(target, nest.contraction) is not None:
            return nest
    return max(kernel.nests, key=lambda nest: nest.points * nest.trips)


def _matrix(nest: BoundNest, target: Target, result: list[int]) -> None:
    dims, unit = nest.contraction, target.matrix
    assert dims is not None
    if isinstance(unit, Systolic):
        steps = {"m": 8, "n": unit.cols, "k": unit.rows}
    else:
        assert isinstance(unit, Mma)
        steps = {"m": unit.m, "n": unit.n, "k": unit.k}
    for role, step in steps.items():
        members = getattr(dims, role)
        if members:
            axis = nest.axes[members[-1]]
            result[axis] = max(result[axis], step)
