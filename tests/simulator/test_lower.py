"""Kernels on the `tiny` target, counted by hand.

tiny: a cycle is 1 ns; launch 10 ns; hbm 4 bytes a ns, 20 ns latency, 5 ns to set a transfer up;
a 4 x 4 array; 4 vector lanes; 16 KiB of scratchpad.
"""

from __future__ import annotations

import pytest
from kernels import elementwise, matmul, softmax

from xpu_shark.simulator.simulate import simulate_kernel
from xpu_shark.simulator.target import load, names

TINY = load("tiny")


def test_one_tile_goes_through_load_matrix_store() -> None:
    run = simulate_kernel(matmul(4, 4, 4, tiles=(4, 4, 4)), {}, TINY)
    assert run is not None
    # launch 0..10
    # A: 64 bytes, 5 + 16 ns: 10..31, visible 51; B: 31..52, visible 72
    # matrix: 4 rows 72..76, weights, fill and drain 12 ns: visible 88
    # C: 88..109, in memory at 129
    assert run.time_ps == 129_000
    assert run.bytes == {"hbm": 192}
    assert run.flops == 2 * 4 * 4 * 4
    # launch 10, A and B 62 more until B is visible; then 4 ns of work and 53 ns until the end
    assert run.attribution.stream == "matrix"
    assert run.attribution.stalls_ps == {"launch": 10_000, "hbm": 62_000, "drain": 53_000}
    assert run.attribution.busy_ps == 4_000


def test_bound_is_the_slowest_resource_and_serial_their_sum() -> None:
    run = simulate_kernel(matmul(4, 4, 4), {}, TINY)
    assert run is not None
    # 192 bytes at 4 a ns; 64 multiply-adds at 16 a ns; launch 10 ns
    assert run.bounds.least_ps == {"hbm": 48_000, "matrix": 4_000, "vector": 0, "launch": 10_000}
    assert run.bounds.bound_ps == 48_000
    assert run.bounds.serial_ps == 62_000


def test_two_tiles_overlap_with_two_buffers() -> None:
    run = simulate_kernel(matmul(8, 4, 4, tiles=(4, 4, 4)), {}, TINY)
    assert run is not None
    # B is loaded once outside the loop, so it goes first: 10..31, visible 51.
    # A0: 31..52, visible 72; A1: 52..73, visible 93.
    # tile 0: matrix 72..76, visible 88; tile 1: matrix 93..97, visible 109.
    # C0: 88..109; C1: 109..130, in memory at 150.
    assert run.time_ps == 150_000
    assert run.bytes == {"hbm": 64 * 5}


def test_exponential_runs_on_the_vector_unit_at_its_own_rate() -> None:
    run = simulate_kernel(elementwise(8), {}, TINY)
    assert run is not None
    # launch 10; 32 bytes in: 5 + 8 = 13, visible at 43; 8 exponentials: 2 x 4 cycles = 8 ns to 51;
    # 32 bytes out: 13 to 64, in memory at 84.
    assert run.time_ps == 84_000


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize(
    "kernel",
    [
        matmul(1, 1, 1),
        matmul(257, 131, 127),
        matmul(64, 1024, 4096, "bf16"),
        softmax(7, 1009),
        softmax(128, 128),
        elementwise(3, 5, 7),
        elementwise(1 << 20),
    ],
    ids=["unit", "prime", "wide", "rows", "square", "odd", "long"],
)
def test_folded_kernels_equal_full_runs_on_every_target(name: str, kernel: object) -> None:
    target = load(name)
    folded = simulate_kernel(kernel, {}, target)  # type: ignore[arg-type]
    assert folded == simulate_kernel(kernel, {}, target, fold=False)  # type: ignore[arg-type]
    assert folded is not None
    assert folded.time_ps >= folded.bounds.bound_ps


def test_softmax_that_fits_loads_its_rows_once() -> None:
    run = simulate_kernel(softmax(8, 16), {}, TINY)
    assert run is not None
    assert run.bytes == {"hbm": 2 * 8 * 16 * 4}


def test_softmax_with_rows_beyond_the_scratchpad_moves_more() -> None:
    # One row of 16 K f32 is four times the scratchpad: rows pass in chunks, once a nest that
    # reads them, and the exponentials go out to memory and back.
    run = simulate_kernel(softmax(2, 1 << 14), {}, TINY)
    assert run is not None
    assert run.bytes["hbm"] > 2 * 2 * (1 << 14) * 4


def test_no_points_is_no_work() -> None:
    assert simulate_kernel(elementwise(0, 5), {}, TINY) is None
