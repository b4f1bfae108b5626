"""The vector unit of `tiny`: 4 lanes at 1 GHz, exp and div cost 4."""

from __future__ import annotations

import msgspec
import pytest

from xpu_shark.simulator.target import Vector, load
from xpu_shark.simulator.units import vector
from xpu_shark.simulator.units.cost import NONE, Cost

TINY = load("tiny")
PACKED = Vector(lanes=4, width=2, cycles_per_op={"default": 1.0, "madd": 2.0}, packed=("bf16",))


def _service(counts: dict[tuple[str, str], int], unit: Vector = TINY.vector) -> int:
    return vector.work_cost(msgspec.structs.replace(TINY, vector=unit), counts).service_ps


def test_lanes_share_the_operations() -> None:
    assert vector.work_cost(TINY, {("add", "f32"): 8}) == Cost(2_000, 0)


def test_exp_costs_its_own_cycles() -> None:
    assert _service({("exp", "f32"): 1}) == 1_000  # 4 cycles over 4 lanes


def test_kinds_follow_each_other() -> None:
    assert _service({("add", "f32"): 4, ("exp", "f32"): 4, ("max", "f32"): 8}) == 7_000


def test_multiply_add_is_one_operation_unless_listed() -> None:
    assert _service({("madd", "f32"): 4}) == 1_000
    assert _service({("madd", "f32"): 4}, PACKED) == 2_000


@pytest.mark.parametrize(
    ("element", "cycles"),
    [
        ("f32", 1.0),
        ("bf16", 0.5),  # packed
        ("f16", 1.0),  # not packed: a whole lane
        ("i1", 1.0),
        ("i64", 2.0),
        ("index", 2.0),
        ("f64", 2.0),
        ("complex<f32>", 2.0),
        ("complex<f64>", 4.0),
    ],
)
def test_type_costs_by_its_width(element: str, cycles: float) -> None:
    assert vector.element_cycles(PACKED, element) == cycles


def test_targets_own_cost_of_a_type_wins() -> None:
    unit = msgspec.structs.replace(PACKED, element_cycles={"f64": 16.0, "bf16": 0.25})
    assert vector.element_cycles(unit, "f64") == 16.0
    assert vector.element_cycles(unit, "bf16") == 0.25
    assert vector.element_cycles(unit, "complex<f64>") == 32.0


def test_special_functions_of_a_narrow_type_run_in_32_bits() -> None:
    a100 = load("a100").vector  # 64 additions a cycle of f32, 256 of f16
    assert vector.op_cycles(a100, "exp", "f16") == vector.op_cycles(a100, "exp", "f32")
    assert vector.op_cycles(a100, "add", "f16") == vector.op_cycles(a100, "add", "f32") / 4
    assert vector.op_cycles(PACKED, "exp", "bf16") == vector.op_cycles(PACKED, "exp", "f32") / 2


def test_tails_execute_masked_lanes() -> None:
    assert vector.padded(TINY.vector, 15, 5) == 24  # 3 rows of 5, each 2 instructions of 4
    assert vector.padded(PACKED, 15, 5) == 18  # instructions of 2 lanes
    cost = vector.work_cost(TINY, {("add", "f32"): 30}, points=15, padded_points=24)
    assert cost.service_ps == 12_000  # 48 operations over 4 lanes


def test_latency_is_paid_once() -> None:
    unit = msgspec.structs.replace(TINY.vector, latency_cycles=3.0)
    target = msgspec.structs.replace(TINY, vector=unit)
    assert vector.work_cost(target, {("add", "f32"): 8}) == Cost(2_000, 3_000)


def test_no_work_costs_nothing() -> None:
    assert vector.work_cost(TINY, {}) == NONE
    assert vector.work_cost(TINY, {("add", "f32"): 0}) == NONE
    assert vector.padded(TINY.vector, 0, 5) == 0


def test_cost_is_rounded_up() -> None:
    assert _service({("add", "f32"): 1}, msgspec.structs.replace(PACKED, lanes=3)) == 334


def test_more_work_never_costs_less() -> None:
    costs = [_service({("exp", "f32"): count}) for count in range(1, 50)]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]
