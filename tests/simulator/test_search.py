"""Tiling search: ranked by simulation, pruned soundly, the same in any process."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from kernels import elementwise, matmul

from xpu_shark.simulator import tiling as tilings
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.search import search
from xpu_shark.simulator.simulate import run_bound
from xpu_shark.simulator.target import load

TINY = load("tiny")
CHILD = Path(__file__).parent / "search_child.py"


def child(workers: int, seed: str) -> bytes:
    command = [sys.executable, str(CHILD), str(workers)]
    env = os.environ | {"PYTHONHASHSEED": seed}
    return subprocess.run(command, env=env, check=True, capture_output=True).stdout


def test_search_finds_the_best_of_a_small_space_tried_one_by_one() -> None:
    kernel = bind(matmul(16, 16, 16), {})
    space = [Tiling(tile, (0, 1)) for tile in product((4, 16), repeat=3)]
    times = {tiling: run_bound(kernel, tiling, TINY).time_ps for tiling in space}
    found = search(kernel, TINY, space[0], tilings=space)
    assert found[0].run.time_ps == min(times.values())
    assert all(candidate.run.time_ps == times[candidate.tiling] for candidate in found)


def test_candidates_are_ranked_by_simulated_time_and_the_start_is_among_them() -> None:
    kernel = bind(matmul(64, 64, 64), {})
    start = Tiling((4, 4, 4), (0, 1))
    found = search(kernel, TINY, start)
    ranked = [candidate.run.time_ps for candidate in found]
    assert ranked == sorted(ranked)
    assert start in [candidate.tiling for candidate in found]
    assert ranked[0] < run_bound(kernel, start, TINY).time_ps


def test_extra_tilings_are_simulated_even_where_they_cannot_win() -> None:
    kernel = bind(elementwise(1 << 12), {})
    start, slow = tilings.choose(kernel, TINY, "default"), Tiling((1,), (0,))
    found = search(kernel, TINY, start, (slow, start))
    assert [candidate.tiling for candidate in found].count(slow) == 1
    assert [candidate.tiling for candidate in found].count(start) == 1


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_ranked_list_is_the_same_at_any_worker_count_and_in_any_process(workers: int) -> None:
    assert child(workers, seed=str(workers)) == child(0, seed="0")
