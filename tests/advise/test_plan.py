"""What is not simulated for a plan changes no verdict: compared with simulating it."""

from __future__ import annotations

import pytest

from xpu_shark.passes.advise.plan import NEGLIGIBLE, Simulator, serial
from xpu_shark.simulator.collectives.candidates import Team
from xpu_shark.simulator.evaluate import Settings
from xpu_shark.simulator.link_variation import time_after
from xpu_shark.simulator.target import load
from xpu_shark.simulator.workload import Collective

KINDS = ("all_gather", "all_reduce", "reduce_scatter")


def collective(kind: str, size: int) -> Collective:
    return Collective(kind=kind, reduction="", element="f32", bytes=size)


@pytest.mark.parametrize("target", ["tpu_v6e", "h100", "mi300x"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_collective_is_faster_than_what_it_takes_at_least(kind: str, target: str) -> None:
    for devices in (2, 4, 8):
        simulator = Simulator(Settings(target=load(target), devices=devices))
        for size in (4096, 262144, 8 << 20):
            done = simulator.command(collective(kind, size))
            assert done is not None
            assert simulator.least_ps(collective(kind, size)) <= done.time_ps


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [4, 4096, 524288])
def test_moved_links_change_a_time_as_they_do_in_a_simulation(kind: str, size: int) -> None:
    target = load("tpu_v6e")
    simulator = Simulator(Settings(target=target, devices=8))
    done = simulator.command(collective(kind, size))
    assert done is not None
    told = simulator.moved(serial([done]))
    for (what, moved), (_, time) in zip(simulator.moves, told, strict=True):
        if moved.network is not target.network:
            exact = time_after(target, moved, kind, size, Team(8))
            assert abs(time / exact - 1) < NEGLIGIBLE
            assert time == exact or what == "link bandwidth"
