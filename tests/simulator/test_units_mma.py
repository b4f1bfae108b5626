"""Matrix instructions of 2 x 4 x 8 on a core of 1 GHz: a cycle is 1000 ps."""

from __future__ import annotations

import pytest

from xpu_shark.simulator.target import Mma, load
from xpu_shark.simulator.units import mma
from xpu_shark.simulator.units.cost import NONE, Cost

TINY = load("tiny")
UNIT = Mma(m=2, n=4, k=8, macs_per_cycle={"f16": 64.0, "i8": 128.0}, latency_cycles=7.0)


def _cost(m: int, n: int, k: int, batch: int = 1, element: str = "f16") -> Cost:
    return mma.tile_cost(TINY, UNIT, batch=batch, m=m, n=n, k=k, element=element)


@pytest.mark.parametrize(
    ("m", "n", "k", "macs"),
    [
        (2, 4, 8, 64),  # one step
        (1, 1, 1, 64),  # still one step
        (3, 4, 8, 128),
        (5, 7, 3, 384),  # 6 x 8 x 8
    ],
)
def test_edges_are_filled_up_to_whole_steps(m: int, n: int, k: int, macs: int) -> None:
    assert mma.padded_macs(UNIT, batch=1, m=m, n=n, k=k) == macs
    assert _cost(m, n, k) == Cost(macs // 64 * 1000, 7_000)


def test_rate_is_the_types_own() -> None:
    assert _cost(4, 8, 8, element="i8").service_ps == 2_000  # 256 madds at 128 a cycle


def test_batches_add_up() -> None:
    assert _cost(2, 4, 8, batch=5).service_ps == 5_000


@pytest.mark.parametrize("zero", ["batch", "m", "n", "k"])
def test_no_work_costs_nothing(zero: str) -> None:
    sizes = {"batch": 1, "m": 4, "n": 4, "k": 4, zero: 0}
    assert mma.tile_cost(TINY, UNIT, element="f16", **sizes) == NONE


@pytest.mark.parametrize("grown", ["batch", "m", "n", "k"])
def test_more_work_never_costs_less(grown: str) -> None:
    costs = []
    for size in range(1, 20):
        sizes = {"batch": 1, "m": 5, "n": 7, "k": 3, grown: size}
        costs.append(mma.tile_cost(TINY, UNIT, element="f16", **sizes).service_ps)
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]
