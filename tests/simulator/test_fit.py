"""Tiles that do not fit: what is simulated instead, and what is said."""

from __future__ import annotations

import msgspec
from kernels import elementwise, matmul

from xpu_shark.simulator import target as targets
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.fit import fit
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import simulate_kernel
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.workload import Dim

TINY = targets.load("tiny")
INNER = TINY.memory[-1]


def shrunk(bytes: int) -> Target:
    """`tiny` with `bytes` of memory beside the core."""
    memory = (*TINY.memory[:-1], msgspec.structs.replace(INNER, bytes=bytes))
    return msgspec.structs.replace(TINY, memory=memory)


def test_a_tile_that_fits_stays_as_it_is_and_nothing_is_said() -> None:
    tiling = Tiling((4, 4, 4), (0, 1))
    assert fit(bind(matmul(8, 8, 8), {}), tiling, TINY) == (tiling, "")


def test_a_tile_that_is_too_large_is_halved_until_it_fits_and_both_are_named() -> None:
    # One 32x32 tile of A, of B and of C, each 32*32*4 = 4096 B: 12288 B of the 4096 B there are.
    kernel, small = bind(matmul(32, 32, 32), {}), shrunk(4096)
    tiling, note = fit(kernel, Tiling((32, 32, 32), (0, 1)), small)
    assert estimate(kernel, tiling, small).fits
    assert note == (
        f"tile [32, 32, 32] needs 12288 B of {INNER.name}, 4096 B available: "
        f"simulated with tile {list(tiling.tile)}"
    )


def test_a_pinned_tile_that_is_too_large_is_said_with_the_run() -> None:
    run = simulate_kernel(matmul(32, 32, 32, tiles=(32, 32, 32)), {}, shrunk(4096))
    assert run is not None
    assert run.note.startswith("tile [32, 32, 32] needs 12288 B")
    assert run.plan.source == "ir"


def test_memory_too_small_for_any_tile_is_said_and_the_work_still_has_a_time() -> None:
    run = simulate_kernel(matmul(32, 32, 32), {}, shrunk(8))
    assert run is not None
    assert run.time_ps >= run.bounds.bound_ps > 0
    assert "8 B available" in run.note
    assert run.note.endswith("simulated as if it fitted")


def test_rows_that_are_sorted_in_pieces_say_that_merging_is_missing() -> None:
    # Rows of 400 KB, 16 KiB of scratchpad: each is cut, and a sort needs it whole.
    row = elementwise(8, 100_000, kind="compare")
    dims = (row.nests[0].dims[0], Dim(extent=100_000, kind="reduction"))
    nest = msgspec.structs.replace(row.nests[0], name="sort", dims=dims, whole=True)
    run = simulate_kernel(msgspec.structs.replace(row, nests=(nest,)), {}, TINY)
    assert run is not None
    assert run.note.startswith("rows of 100000 are sorted in pieces of ")
    small = elementwise(8, 100, kind="compare")
    dims = (small.nests[0].dims[0], Dim(extent=100, kind="reduction"))
    nest = msgspec.structs.replace(small.nests[0], name="sort", dims=dims, whole=True)
    run = simulate_kernel(msgspec.structs.replace(small, nests=(nest,)), {}, TINY)
    assert run is not None
    assert run.note == ""


def test_the_best_tile_is_no_slower_than_one_that_was_cut_down_to_fit() -> None:
    kernel = matmul(100, 24, 24, tiles=(100, 24, 24))
    fitted, best = (simulate_kernel(kernel, {}, shrunk(4096), mode) for mode in ("ir", "best"))
    assert fitted is not None
    assert best is not None
    assert fitted.note
    assert best.time_ps <= fitted.time_ps
