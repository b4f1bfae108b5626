"""What is said of attention that moves more than a block at a time, and has its blocks wait."""

from __future__ import annotations

from dataclasses import replace

import msgspec
from cases import case
from kernels import matmul

from xpu_shark.passes.advise.case import Case
from xpu_shark.passes.advise.causes import causes
from xpu_shark.passes.advise.rules import overlap, tiling
from xpu_shark.passes.advise.tiles import sizes
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import run_bound

ROWS_FIRST = (0, 1)
STAGED = Tiling((16, 16, 64), ROWS_FIRST, moved=(64, 64, 64), serial=True)


def run_with(plan: Tiling) -> Case:
    found = case(matmul(64, 64, 64), "tpu_v6e")
    return replace(found, run=run_bound(found.kernel, plan, found.target))


def test_a_tile_is_told_with_the_transfers_that_it_is_part_of() -> None:
    found = run_with(STAGED)
    assert sizes(found, STAGED) == "[16, 16, 64] loops [0, 1] in transfers of [64, 64, 64]"
    assert sizes(found, Tiling(STAGED.tile, ROWS_FIRST)) == "[16, 16, 64] loops [0, 1]"
    assert sizes(found, Tiling((64, 64, 64), ROWS_FIRST)) == "[64, 64, 64]"


def test_blocks_that_wait_are_no_lack_of_buffers_or_of_bytes() -> None:
    found = run_with(STAGED)
    assert tuple(causes(found, Tiling((32, 64, 64), ROWS_FIRST))) == (
        "blocks that wait for each other",
    )


def test_one_transfer_of_several_blocks_is_one_tile() -> None:
    found = run_with(msgspec.structs.replace(STAGED, serial=False))
    assert tuple(causes(found, Tiling((32, 64, 64), ROWS_FIRST))) == (
        "one tile, so that load, work and store take turns",
    )


def test_the_same_blocks_one_after_another_or_not_are_two_tilings() -> None:
    found = run_with(STAGED)
    assert tiling._same(found, msgspec.structs.replace(STAGED, source="best"))
    for change in ({"serial": False}, {"moved": None}):
        assert not tiling._same(found, msgspec.structs.replace(STAGED, **change))


def test_overlap_lets_the_blocks_go_on() -> None:
    [proposal] = overlap.propose(run_with(STAGED))
    assert proposal.condition.endswith("blocks that wait for each other")
    assert proposal.launches[0][1] == msgspec.structs.replace(STAGED, serial=False)
