"""Starting workgroups takes time, one after another, beside the work of those that run."""

from __future__ import annotations

import msgspec
import pytest
from kernels import pinned

from xpu_shark.simulator.simulate import simulate_kernel
from xpu_shark.simulator.target import load

# `tiny` with two cores: a launch takes 10 ns, 4 bytes a ns, transfers 5 + 20 ns.
TWO = msgspec.structs.replace(load("tiny"), cores=2, execution="waves")


def _time_ps(workgroup_ns: float) -> int:
    """32 exponentials in 8 workgroups of 4: four waves of two."""
    slow = msgspec.structs.replace(TWO, workgroup_ns=workgroup_ns)
    run = simulate_kernel(pinned((32,), (4,)), {}, slow, mode="ir")
    assert run is not None
    return run.time_ps


def _one_wave_ps() -> int:
    run = simulate_kernel(pinned((8,), (4,)), {}, TWO, mode="ir")
    assert run is not None
    return run.time_ps


@pytest.mark.parametrize("workgroup_ns", [100.0, 1000.0])
def test_the_last_wave_starts_after_all_workgroups(workgroup_ns: float) -> None:
    """Earlier waves are long done: 8 starts, then what one wave takes alone."""
    assert _time_ps(workgroup_ns) == _one_wave_ps() + round(8 * workgroup_ns * 1000)


def test_starts_hide_behind_slower_work() -> None:
    """A wave keeps the memory for longer than its two starts of 1 ns take, so only the first
    wave's are seen."""
    assert _time_ps(1.0) == _time_ps(0.0) + 2000
