"""From a run's probes to the trip counts that the simulator asks for."""

from __future__ import annotations

import pytest

from xpu_shark.passes.instrument.count_trips import count_trips, counted
from xpu_shark.passes.instrument.expression import Constant, Expression, PlanError, Probed
from xpu_shark.passes.instrument.plan import (
    Branch,
    ExportPlan,
    Loop,
    Node,
    Stamp,
    Value,
    While,
)
from xpu_shark.passes.instrument.reconstruct import WorkgroupRun

ZERO, ONE, TWO = Constant(0), Constant(1), Constant(2)


def loop(number: int, upper: Expression, *body: Node, trip: int = 0) -> Loop:
    return Loop(number, ZERO, upper, ONE, body, trip=trip)


def trips_of(*nodes: Node, values: tuple[tuple[int, int], ...]) -> dict[int, tuple[int, int]]:
    """Turns and entries of each trip count in one workgroup's run."""
    run = WorkgroupRun("k", (0, 0, 0), (1, 1, 1), values)
    plan = counted(ExportPlan("k", nodes))
    assert plan is not None
    trips = count_trips(plan, run)
    return {number: (trips.turns[number], trips.entries[number]) for number in trips.entries}


def test_a_loop_in_a_loop_is_entered_in_each_turn() -> None:
    rows = loop(0, TWO, Value(3), loop(1, Probed(3), trip=1))
    assert trips_of(rows, values=((3, 8), (3, 5))) == {1: (13, 2)}


def test_an_empty_loop_was_entered_as_well() -> None:
    rows = loop(0, TWO, Value(3), loop(1, Probed(3), trip=1))
    assert trips_of(rows, values=((3, 0), (3, 5))) == {1: (5, 2)}


def test_a_while_counts_its_own_turns_and_not_those_inside() -> None:
    inner = loop(1, Constant(10), Value(5))
    turns = While(0, (Value(2),), Probed(2), (inner,), trip=4)
    tens = ((5, 0),) * 10
    assert trips_of(turns, values=((2, 1), *tens, (2, 1), *tens, (2, 0))) == {4: (2, 1)}


def test_a_branch_counts_how_often_its_first_arm_ran() -> None:
    rows = loop(0, Constant(3), Value(0), Branch(Probed(0), trip=2))
    assert trips_of(rows, values=((0, 1), (0, 0), (0, 1))) == {2: (2, 3)}


def test_a_size_that_was_read_is_added_up() -> None:
    rows = loop(0, TWO, Value(3, trip=1), loop(1, Probed(3)))
    assert trips_of(rows, values=((3, 8), (3, 16))) == {1: (24, 2)}


def test_loops_without_a_probe_take_no_time_and_stamps_are_passed_over() -> None:
    # 2**62 turns of nothing, around no probe
    idle = loop(0, Constant(2**62), loop(1, Constant(2**62)))
    timed = loop(2, TWO, Stamp(9, loop=2), loop(3, Constant(2**62), trip=1))
    assert trips_of(idle, timed, values=((9, 11), (9, 12))) == {1: (2**63, 2)}


def test_a_damaged_bound_does_not_take_for_ever() -> None:
    rows = Loop(0, ZERO, Probed(3), ONE, (loop(1, TWO, trip=1),))
    with pytest.raises(PlanError, match="at most 1048576 turns"):
        trips_of(Value(3), rows, values=((3, 2**31 - 1),))


def test_values_of_another_program_are_refused() -> None:
    with pytest.raises(PlanError, match="expected a value of site 3, found one of site 4"):
        trips_of(Value(3, trip=1), values=((4, 1),))


def test_a_plan_says_whether_it_counts_anything() -> None:
    inside = loop(0, TWO, Branch(ONE, otherwise=(loop(1, TWO, trip=1),)))
    assert counted(ExportPlan("k", (inside,))) is not None
    assert counted(ExportPlan("k", (loop(0, TWO, Value(1), Stamp(2)),))) is None
