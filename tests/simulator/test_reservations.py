"""Workgroups in blocks: counted by hand for two cores that take ten units a workgroup."""

from __future__ import annotations

import pytest

from xpu_shark.simulator.reservations import turns


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (15, [(7, 2), (1, 1)]),  # too few for blocks: as even as it gets
        (16, [(8, 2)]),  # a block each
        (18, [(8, 2), (2, 1)]),  # the last block is of two
        (20, [(8, 2), (4, 1)]),
        (24, [(8, 2), (8, 1)]),  # one core has nothing to do for a third of the time
        (36, [(16, 2), (4, 1)]),
    ],
)
def test_the_last_block_leaves_a_core_without_work(
    count: int, expected: list[tuple[int, int]]
) -> None:
    assert turns(count, cores=2, each=10, wake=0) == expected


def test_the_first_core_works_alone_until_the_others_wake() -> None:
    # 12 one by one: the first core has 2 done when the other joins, and 5 are left for each.
    assert turns(12, cores=2, each=10, wake=20) == [(2, 1), (5, 2)]
    # 16 in blocks: the other core has its 8 to do from then on, and the first only 6 of its own.
    assert turns(16, cores=2, each=10, wake=20) == [(2, 1), (6, 2), (2, 1)]
    # All is done before anybody wakes.
    assert turns(3, cores=4, each=10, wake=50) == [(3, 1)]
    # A machine of one core has nobody to wake.
    assert turns(20, cores=1, each=10, wake=50) == [(20, 1)]


@pytest.mark.parametrize("cores", [1, 2, 3, 8])
@pytest.mark.parametrize("wake", [0, 7, 25, 1000])
@pytest.mark.parametrize("count", [1, 7, 16, 33, 64, 101])
def test_every_workgroup_runs_once(count: int, wake: int, cores: int) -> None:
    handed = turns(count, cores, each=5, wake=wake)
    assert sum(number * at_work for number, at_work in handed) == count
    assert all(number > 0 and 0 < at_work <= cores for number, at_work in handed)
