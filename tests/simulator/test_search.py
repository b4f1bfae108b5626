"""Tiling search: ranked by simulation, pruned soundly, the same in any process."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import msgspec
import pytest
from kernels import elementwise, matmul

from xpu_shark.simulator import tiling as tilings
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.lattice import Lattice, sizes
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.search import QUICK, THOROUGH, Effort, search
from xpu_shark.simulator.simulate import run_bound
from xpu_shark.simulator.target import load

TINY = load("tiny")
CHILD = Path(__file__).parent / "search_child.py"


def child(workers: int, seed: str) -> bytes:
    command = [sys.executable, str(CHILD), str(workers)]
    env = os.environ | {"PYTHONHASHSEED": seed}
    return subprocess.run(command, env=env, check=True, capture_output=True).stdout


def test_sizes_are_steps_of_the_unit_and_equal_pieces() -> None:
    # 1, 2, 3, 4, 6, 8 and 12 steps of 8; 2 to 8 pieces of 100 are 56, 40, 32, 24, 24, 16 and 16.
    assert sizes(100, 8) == [8, 16, 24, 32, 40, 48, 56, 64, 96, 100]
    assert sizes(7, 8) == [7]
    assert sizes(5, 1) == [1, 2, 3, 4, 5]


def test_neighbours_differ_in_one_size_or_in_two_loops() -> None:
    lattice = Lattice(bind(matmul(64, 64, 64), {}), TINY)
    tile = (16, 16, 64)
    near = list(lattice.neighbours(Tiling(tile, (0, 1))))
    # Sizes go by 12, 16, 24 (4 x 4 array, so steps of 8 rows and 4 columns); K is whole.
    assert {t.tile for t in near} == {
        (8, 16, 64), (24, 16, 64), (16, 12, 64), (16, 24, 64), (16, 16, 48), tile
    }  # fmt: skip
    assert [t.order for t in near if t.tile == tile] == [(1, 0)]


def test_search_finds_the_best_of_a_space_tried_one_by_one() -> None:
    kernel = bind(matmul(64, 48, 40), {})
    lattice = Lattice(kernel, TINY)
    every = [Tiling(tile, order) for tile in product(*lattice.sizes) for order in ((0, 1), (1, 0))]
    fitting = [tiling for tiling in every if estimate(kernel, tiling, TINY).fits]
    found = search(kernel, TINY, Tiling((8, 4, 4), (0, 1)))
    least = min(run_bound(kernel, tiling, TINY).time_ps for tiling in fitting)
    assert found[0].run.time_ps <= 1.01 * least
    assert len(found) <= THOROUGH.simulated < len(fitting) / 10


@pytest.mark.parametrize(
    ("target", "kind", "extent"),
    [("tpu_v6e", "exp", 1000003), ("tpu_v6e", "erf", 5000000), ("h100", "divide", 1 << 20)],
)
@pytest.mark.parametrize("effort", [QUICK, THOROUGH])
def test_a_small_space_is_searched_whole(
    target: str, kind: str, extent: int, effort: Effort
) -> None:
    kernel, machine = bind(elementwise(extent, kind=kind, element="i8"), {}), load(target)
    every = [Tiling((size,), (0,)) for size in Lattice(kernel, machine).sizes[0]]
    found = search(kernel, machine, tilings.choose(kernel, machine, "default"), effort=effort)
    assert found[0].run.time_ps == min(
        run_bound(kernel, tiling, machine).time_ps
        for tiling in every
        if estimate(kernel, tiling, machine).fits
    )


def test_a_start_that_overflows_the_memory_does_not_win() -> None:
    # 64 x 64 whole: 3 x 16 KiB in a scratchpad of 16 KiB.
    kernel = bind(matmul(64, 64, 64), {})
    whole = Tiling((64, 64, 64), (0, 1))
    assert not estimate(kernel, whole, TINY).fits
    found = search(kernel, TINY, whole)
    assert found[-1].tiling == whole
    assert estimate(kernel, found[0].tiling, TINY).fits


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


@pytest.mark.parametrize("change", [{"serial": True}, {"moved": (64, 48, 40)}])
def test_the_plain_tiling_of_the_start_is_tried_too(change: dict[str, object]) -> None:
    kernel = bind(matmul(64, 48, 40), {})
    best = search(kernel, TINY, Tiling((8, 4, 4), (0, 1)))[0]
    start = msgspec.structs.replace(best.tiling, **change)
    assert search(kernel, TINY, start)[0].run.time_ps <= best.run.time_ps
