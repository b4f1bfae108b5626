"""The systolic array of `tiny`: one 4x4 array at 1 GHz, so a cycle is 1000 ps."""

from __future__ import annotations

import msgspec
import pytest

from xpu_shark.simulator.target import Systolic, load
from xpu_shark.simulator.units import systolic
from xpu_shark.simulator.units.cost import NONE, Cost

TINY = load("tiny")
ONE = Systolic(count=1, rows=4, cols=4, cycles_per_row={"f32": 1.0, "i8": 0.5})
TWO = msgspec.structs.replace(ONE, count=2)
# First weights 4 cycles, fill 4, drain 4.
LATENCY = 12_000


def _cost(unit: Systolic, m: int, n: int, k: int, batch: int = 1, element: str = "f32") -> Cost:
    return systolic.tile_cost(TINY, unit, batch=batch, m=m, n=n, k=k, element=element)


@pytest.mark.parametrize(
    ("m", "n", "k", "cycles"),
    [
        (4, 4, 4, 4),  # one pass of 4 rows
        (4, 4, 8, 8),  # two passes of 4 rows
        (10, 4, 4, 10),  # one pass of 10 rows
        (1, 4, 4, 4),  # one row, but the next weights take 4 cycles
        (5, 7, 4, 10),  # 7 columns are two passes, each of 5 rows
        (5, 3, 7, 10),  # so are 7 rows of weights
        (9, 9, 9, 81),  # 3 x 3 passes of 9 rows
    ],
)
def test_service_counts_rows_of_every_pass(m: int, n: int, k: int, cycles: int) -> None:
    assert _cost(ONE, m, n, k) == Cost(cycles * 1000, LATENCY)


@pytest.mark.parametrize(
    ("k", "cycles", "first"),
    [
        (4, 4, 4),  # four rows of weights load while one row streams
        (3, 3, 3),
        (1, 1, 1),
        (6, 4 + 2, 4),  # the second pass has two rows of weights
        (9, 4 + 4 + 1, 4),
    ],
)
def test_only_weights_that_there_are_load(k: int, cycles: int, first: int) -> None:
    fill_and_drain = 4 + 4
    assert _cost(ONE, 1, 4, k) == Cost(cycles * 1000, (first + fill_and_drain) * 1000)


def test_swapping_weights_costs_every_pass() -> None:
    swap = msgspec.structs.replace(ONE, pass_cycles=3.0)
    assert _cost(swap, 10, 4, 8).service_ps == 26_000  # two passes of 10 rows and 3 cycles
    assert _cost(swap, 1, 4, 4).service_ps == 7_000  # the next weights take 4, and 3 cycles


def test_batches_are_passes_of_their_own() -> None:
    assert _cost(ONE, 4, 4, 4, batch=3).service_ps == 12_000


def test_narrow_type_streams_faster_until_weights_limit() -> None:
    assert _cost(ONE, 20, 4, 4, element="i8").service_ps == 10_000  # 20 rows at half a cycle
    assert _cost(ONE, 4, 4, 4, element="i8").service_ps == 4_000  # 2 cycles, weights 4


def test_passes_are_shared_out_over_arrays() -> None:
    assert _cost(TWO, 8, 8, 4).service_ps == 8_000  # two passes, one each
    assert _cost(TWO, 8, 12, 4).service_ps == 16_000  # three passes: one array does two


def test_arrays_without_a_pass_share_the_rows() -> None:
    assert _cost(TWO, 20, 4, 4).service_ps == 10_000  # 10 rows each
    assert _cost(TWO, 6, 4, 4).service_ps == 4_000  # 3 rows each, weights 4


@pytest.mark.parametrize("zero", ["batch", "m", "n", "k"])
def test_no_work_costs_nothing(zero: str) -> None:
    sizes = {"batch": 1, "m": 4, "n": 4, "k": 4, zero: 0}
    assert systolic.tile_cost(TINY, ONE, element="f32", **sizes) == NONE
    assert systolic.padded_macs(ONE, **sizes) == 0


def test_padded_macs_count_idle_cells() -> None:
    assert systolic.padded_macs(ONE, batch=1, m=4, n=4, k=4) == 64
    assert systolic.padded_macs(ONE, batch=2, m=5, n=7, k=3) == 320  # 2 x 5 rows x 4 x 8 cells


@pytest.mark.parametrize("unit", [ONE, TWO, msgspec.structs.replace(ONE, count=4)])
@pytest.mark.parametrize("grown", ["batch", "m", "n", "k"])
def test_more_work_never_costs_less(unit: Systolic, grown: str) -> None:
    costs = []
    for size in range(1, 30):
        sizes = {"batch": 1, "m": 5, "n": 7, "k": 3, grown: size}
        costs.append(systolic.tile_cost(TINY, unit, element="f32", **sizes).service_ps)
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_long_columns_run_at_the_peak() -> None:
    # 8 x 8 weights are 4 passes over 2 arrays: 2 x 1000 rows; 64 madds a row at 32 a cycle.
    assert _cost(TWO, 1000, 8, 8).service_ps == 2_000_000
    assert systolic.macs_per_cycle(TWO, "f32") * 2000 == 1000 * 8 * 8
