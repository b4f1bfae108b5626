"""What is said to be wrong with a tile is what the better one cures."""

from __future__ import annotations

from dataclasses import replace

from cases import case
from kernels import matmul

from xpu_shark.passes.advise.causes import causes
from xpu_shark.passes.advise.reloads import passes
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import run_bound
from xpu_shark.simulator.workload import Kernel

ROWS_FIRST = (0, 1)


def said(
    kernel: Kernel, target: str, tile: tuple[int, ...], better: tuple[int, ...]
) -> tuple[str, ...]:
    """The causes for `better` in place of `tile`."""
    found = case(kernel, target)
    run = run_bound(found.kernel, Tiling(tile, ROWS_FIRST), found.target)
    return tuple(causes(replace(found, run=run), Tiling(better, ROWS_FIRST)))


def test_half_a_burst_is_no_second_load() -> None:
    # Rows of 32 one-byte elements fill half of a burst of 64 B.
    kernel = matmul(1024, 1024, 1024, element="f8E4M3FN")
    text = said(kernel, "mi300x", (64, 64, 32), (64, 64, 64))
    assert "the 1024x1024xf8E4M3FN operand in pieces that fill 50 % of 64 B bursts" in text
    assert not any("loaded" in each for each in text)
    found = case(kernel, "mi300x")
    half, whole = (
        passes(found.kernel, Tiling((64, 64, k), ROWS_FIRST), found.target) for k in (32, 64)
    )
    assert half == whole


def test_a_last_tile_that_is_nearly_full_is_not_cut_off() -> None:
    # 900,000 in tiles of 225,024: the fourth has 224,928.
    text = said(matmul(33, 33, 900_000), "tpu_v6e", (33, 33, 225_024), (33, 33, 24_576))
    assert text == ("4 tiles, of which the first load and the last store hide behind nothing",)


def test_a_last_tile_that_is_nearly_empty_is_cut_off() -> None:
    # tiny: 36 rows in tiles of 32 leave 4, a ninth of the work.
    text = said(matmul(36, 16, 16), "tiny", (32, 16, 16), (12, 16, 16))
    assert "11 % of the work in tiles cut off at an edge" in text


def test_results_that_wait_for_their_only_buffer_are_named() -> None:
    # tiny, 16 KiB: B stays in 4 KiB; tiles of 32 rows leave 4 KiB for C beside two of A.
    text = said(matmul(128, 32, 32), "tiny", (32, 32, 32), (4, 32, 32))
    assert "a single buffer for results" in text


def test_a_last_tile_that_is_nearly_empty_loads_little() -> None:
    # tiny: 33 rows in tiles of 32, twice; one pass over A, and B stays.
    found = case(matmul(33, 16, 16), "tiny")
    assert passes(found.kernel, Tiling((32, 16, 16), ROWS_FIRST), found.target) == {0: 1, 1: 1}
    # Two blocks of columns: B comes whole for each of two blocks of rows.
    assert passes(found.kernel, Tiling((32, 15, 16), ROWS_FIRST), found.target) == {0: 1, 1: 2}
