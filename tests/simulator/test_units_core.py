"""Register tiles of a core with 8 lanes and 16 registers: a multiply-add takes a cycle a register,
a load half a cycle, the result of a multiply-add is there after 4. Products have 100 steps."""

from __future__ import annotations

import msgspec
import pytest

from tests.simulator.hosts import HOST
from xpu_shark.simulator.units import core as unit
from xpu_shark.simulator.units.core import Product

CORE = HOST.core
assert CORE is not None


@pytest.mark.parametrize(
    ("rows", "columns", "cycles"),
    [
        (8, 8, 8.0),  # 8 registers of results; 9 loads take 4.5
        (4, 16, 8.0),  # 4 x 2 registers
        (1, 8, 4.0),  # one register: each step waits for the one before
        (12, 4, 12.0),  # ports as wide as a register: half a one takes as long
        (4, 9, 8.0),  # 9 columns are two registers a row
    ],
)
def test_busiest_port_or_the_chain_rules(rows: int, columns: int, cycles: float) -> None:
    step = Product(rows=rows, columns=columns, length=100)
    assert unit.product_cycles(HOST, CORE, step, "f32", 32) == cycles


def test_ports_half_as_wide_do_half_a_register_in_half_the_time() -> None:
    half = msgspec.structs.replace(CORE, half_share=0.5)
    # 12 halves, and 12 loads and one of half a register.
    assert unit.product_cycles(HOST, half, Product(12, 4, 100), "f32", 32) == 12 * 0.5 + 0.5
    # 8 rows and one full register, which is two loads: 10 of them; 8 multiply-adds.
    assert unit.product_cycles(HOST, half, Product(8, 8, 100), "f32", 32) == 8.0
    loads = msgspec.structs.replace(half, load_cycles=2.0)
    assert unit.product_cycles(HOST, loads, Product(8, 8, 100), "f32", 32) == 10 * 2.0


@pytest.mark.parametrize(
    ("length", "beside", "cycles"),
    [
        (40, 1, 2.0),  # 40 steps ahead of a chain of 40: two chains at a time
        (40, 4, 3.2),  # 4 chains beside each other: 10 steps ahead of each
        (4000, 1, 4.0 / 1.01),
    ],
)
def test_chains_to_come_begin_before_a_short_one_ends(
    length: int, beside: int, cycles: float
) -> None:
    core = msgspec.structs.replace(CORE, window={"default": 7.0, "madd": 40.0})
    assert unit.chain_cycles(core, "madd", length, beside) == pytest.approx(cycles)


def test_accumulators_past_the_registers_go_to_memory_and_back() -> None:
    # 8 rows of 4 registers: 32 accumulators, 4 of the other operand, one broadcast, 16 registers.
    step = Product(rows=8, columns=32, length=100)
    assert unit.product_cycles(HOST, CORE, step, "f32", 32) == 32 * 1.0 + 21 * 1.5


def test_narrow_types_take_the_time_of_their_own_code() -> None:
    step = Product(rows=4, columns=16, length=100)
    assert unit.product_cycles(HOST, CORE, step, "bf16", 16) == 8 * 4.0
    assert unit.product_cycles(HOST, CORE, step, "f16", 16) == 8 * 1.0  # the default


def test_narrow_elements_cost_their_own_to_fetch() -> None:
    assert unit.gather_cycles(CORE, "bf16") == 18.0
    assert unit.gather_cycles(CORE, "f32") == 3.0


def test_elements_out_of_lane_order_are_shuffled_or_fetched_first() -> None:
    assert unit.product_cycles(HOST, CORE, Product(1, 8, 100, swapped=8), "f32", 32) == 8 * 0.75
    gathered = Product(1, 8, 100, gathered=8, gather_cycles=3.0)
    assert unit.product_cycles(HOST, CORE, gathered, "f32", 32) == (1 + 1) * 0.5 + 8 * 3.0


@pytest.mark.parametrize(
    ("kind", "rows", "cycles"),
    [
        ("add", 8, 1.0),  # 8 chains hide each other's latency of 3
        ("add", 1, 3.0),
        ("add", 2, 1.5),
        ("max", 8, 2.0),
    ],
)
def test_rows_in_flight_hide_the_latency_of_a_chain(kind: str, rows: int, cycles: float) -> None:
    assert unit.fold_cycles(CORE, kind, rows, 100) == cycles


@pytest.mark.parametrize(("columns", "width", "registers"), [(8, 32, 1), (8, 16, 1), (8, 64, 2)])
def test_narrow_results_take_a_lane_and_wide_ones_two(
    columns: int, width: int, registers: int
) -> None:
    assert unit.vectors(HOST, columns, width) == registers
