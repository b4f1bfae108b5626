"""Transfers on `tiny`: set-up 5 ns, latency 20 ns, 4 bytes a ns in bursts of 4."""

from __future__ import annotations

import msgspec
import pytest

from xpu_shark.simulator.target import HostCall, Memory, Submit, load
from xpu_shark.simulator.units import dma, launch
from xpu_shark.simulator.units.cost import NONE, Cost

TINY = load("tiny")
HBM = TINY.memory[0]


def _cost(bytes: int, runs: int = 1, run_bytes: int = 0, level: Memory = HBM) -> Cost:
    return dma.transfer_cost(TINY, level, bytes=bytes, runs=runs, run_bytes=run_bytes or bytes)


def test_one_burst() -> None:
    assert _cost(4) == Cost(6_000, 20_000)  # set-up 5 ns, 4 bytes 1 ns


def test_one_byte_more_takes_another_burst() -> None:
    assert _cost(5) == Cost(7_000, 20_000)


def test_every_run_fills_its_bursts() -> None:
    # 3 runs of 5 bytes are 3 x 8 on the wires, 6 ns; in one piece 15 bytes are 16, 4 ns.
    assert _cost(15, runs=3, run_bytes=5).service_ps == 11_000
    assert _cost(15).service_ps == 9_000


def test_core_that_draws_less_than_the_memory_gives() -> None:
    slow = msgspec.structs.replace(HBM, core_bytes_per_s=1e9)
    assert _cost(8, level=slow).service_ps == 13_000  # 5 + 8 ns
    assert dma.occupancy_ps(slow, 8) == 2_000  # the memory itself is busy for 2 ns


def test_core_that_could_draw_more_gets_what_the_memory_gives() -> None:
    fast = msgspec.structs.replace(HBM, core_bytes_per_s=64e9)
    assert _cost(8, level=fast).service_ps == 7_000


def test_without_runs_the_bytes_are_one_run() -> None:
    assert dma.moved_bytes(HBM, bytes=9, runs=0, run_bytes=0) == 12


def test_moved_bytes_are_never_fewer_than_asked_for() -> None:
    assert dma.moved_bytes(HBM, bytes=100, runs=2, run_bytes=4) == 100


def test_nothing_to_move_costs_nothing() -> None:
    assert _cost(0) == NONE


@pytest.mark.parametrize("runs", [1, 3])
def test_more_bytes_never_cost_less(runs: int) -> None:
    costs = [_cost(runs * run, runs, run).service_ps for run in range(1, 40)]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_launch_is_paid_each_time() -> None:
    assert launch.launch_ps(TINY, 3) == 30_000  # 10 ns each


def test_a_call_costs_what_was_measured_for_its_kind_and_submission_else() -> None:
    call = HostCall(before_ns=2.0, call_ns=5.0)
    some = msgspec.structs.replace(TINY, submit_ns=3.0, submit=Submit(softmax=call))
    assert launch.host_call_ps(some, "softmax") == (2000, 5000)
    assert launch.host_call_ps(some, "elementwise") == (3000, 0)
    assert launch.host_call_ps(some, None) == (3000, 0)
