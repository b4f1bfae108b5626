"""Few events and a plan give back every iteration."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xpu_shark.passes.instrument.expression import (
    Apply,
    Constant,
    Expression,
    Induction,
    PlanError,
    Probed,
    WorkgroupId,
)
from xpu_shark.passes.instrument.plan import (
    NONE,
    Branch,
    ExportPlan,
    Loop,
    Node,
    Plan,
    Size,
    Stamp,
    Value,
    While,
    decode,
    encode,
)
from xpu_shark.passes.instrument.reconstruct import (
    Cycles,
    Iteration,
    WorkgroupRun,
    reconstruct,
    recorded,
    replay,
    sizes,
    trip_count,
)

ZERO, ONE = Constant(0), Constant(1)


def plan_of(*nodes: Node, sizes: tuple[Size, ...] = ()) -> Plan:
    return Plan((ExportPlan("k", nodes, sizes),))


def run_of(*values: tuple[int, int], identity: tuple[int, int, int] = (0, 0, 0)) -> WorkgroupRun:
    return WorkgroupRun("k", identity, (4, 4, 4), values)


def loop(number: int, upper: Expression, *body: Node, lower: Expression = ZERO) -> Loop:
    return Loop(number, lower, upper, ONE, body)


def iterations(plan: Plan, *runs: WorkgroupRun) -> list[tuple[int, int]]:
    return [(each.loop, each.value) for each in reconstruct(plan, runs)]


def test_bounds_from_outer_loops_and_the_workgroup_need_no_event() -> None:
    # for i < 2: for j from i to i + x, with x = 1: (0: j = 0), (1: j = 1)
    end = Apply("add", 64, (Induction(0), WorkgroupId(0)))
    plan = plan_of(loop(0, Constant(2), loop(1, end, lower=Induction(0))))
    found = iterations(plan, run_of(identity=(1, 0, 0)))
    assert found == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_a_probed_bound_is_taken_from_the_event_of_its_own_iteration() -> None:
    plan = plan_of(loop(0, Constant(2), Value(7), loop(1, Probed(7))))
    found = iterations(plan, run_of((7, 1), (7, 2)))
    assert found == [(0, 0), (1, 0), (0, 1), (1, 0), (1, 1)]


def test_a_branch_runs_the_side_that_its_condition_chose() -> None:
    sides = Branch(Probed(0), (loop(0, ONE),), (loop(1, ONE),))
    plan = plan_of(Value(0), sides)
    assert iterations(plan, run_of((0, 1))) == [(0, 0)]
    assert iterations(plan, run_of((0, 0))) == [(1, 0)]


def test_a_while_runs_until_its_condition_is_reported_false() -> None:
    plan = plan_of(While(0, (Value(3),), Probed(3), (loop(1, ONE),)))
    found = iterations(plan, run_of((3, 1), (3, 1), (3, 0)))
    assert found == [(0, 0), (1, 0), (0, 0), (1, 0)]


def test_stamps_stand_where_they_were_taken() -> None:
    body = Loop(0, ZERO, Constant(2), ONE, (Stamp(2, loop=0),))
    plan = plan_of(Stamp(0, high=1), body, Stamp(3))
    found = list(replay(plan, [run_of((0, 5), (1, 2), (2, 10), (2, 20), (3, 30))]))
    assert found == [
        Cycles(0, NONE, (2 << 32) + 5),
        Iteration(0, 0, 0),
        Cycles(0, 0, 10),
        Iteration(0, 0, 1),
        Cycles(0, 0, 20),
        Cycles(0, NONE, 30),
    ]


def test_values_are_signed_words() -> None:
    plan = plan_of(Value(0), loop(0, ONE, lower=Probed(0)))
    assert iterations(plan, run_of((0, 0xFFFFFFFF))) == [(0, -1), (0, 0)]


def test_sizes_of_a_launch_come_from_its_first_values() -> None:
    # two words make one index: 33 + (1 << 32)
    wide = Apply("shl", 64, (Apply("zext", 32, (Probed(1),)), Constant(32)))
    size = Size(0, Apply("or", 64, (Apply("zext", 32, (Probed(0),)), wide)))
    plan = plan_of(Value(0), Value(1), sizes=(size,))
    assert sizes(plan, run_of((0, 33), (1, 1))) == {0: 33 + (1 << 32)}


def test_trip_counts_that_need_no_run_are_in_the_plan() -> None:
    # 0, 8, 16 are below 20
    assert trip_count(Loop(0, ZERO, Constant(20), Constant(8))) == 3
    assert trip_count(loop(0, Probed(0))) is None


@pytest.mark.parametrize(
    ("nodes", "values", "message"),
    [
        ((Value(1),), (), "value 0: expected a value of site 1, found the end"),
        ((Value(1),), ((2, 0),), "value 0: expected a value of site 1, found one of site 2"),
        ((), ((2, 0),), "value 0: expected no more values, found one of site 2"),
        ((Loop(0, ZERO, ONE, ZERO),), (), "expected a step above 0 of loop 0, found 0"),
        ((loop(0, Probed(9)),), (), "site 9 is used before it has a value"),
        ((Loop(0, ZERO, ONE, ONE, (), 4),), ((4, 3),), "expected iteration 0 of loop 0, found 3"),
    ],
)
def test_events_of_another_program_are_refused_in_one_line(
    nodes: tuple[Node, ...], values: tuple[tuple[int, int], ...], message: str
) -> None:
    with pytest.raises(PlanError, match=f"export k, workgroup 0,0,0.*{message}"):
        iterations(plan_of(*nodes), run_of(*values))


def test_a_run_of_an_export_without_a_plan_is_refused() -> None:
    with pytest.raises(PlanError, match="export other is not in the probe plan"):
        list(reconstruct(plan_of(), [WorkgroupRun("other", (0, 0, 0), (1, 1, 1))]))


def test_a_plan_survives_being_written_and_read() -> None:
    nodes = (Value(1), loop(0, Probed(1), Branch(Induction(0), (Stamp(2, 3, 0),))))
    plan = plan_of(*nodes, While(1, (), ONE), sizes=(Size(0, WorkgroupId(2)),))
    assert decode(encode(plan)) == plan


@pytest.mark.parametrize("text", ["", "{", '{"exports": [{}]}', '{"schema": 2}', "[1]"])
def test_text_that_is_no_plan_is_an_error(text: str) -> None:
    with pytest.raises(PlanError):
        decode(text)


@dataclass
class Machine:
    """Runs a random program and writes down both traces: with few probes and with all."""

    values: list[int]
    few: list[tuple[int, int]] = field(default_factory=list)
    all: list[tuple[int, int]] = field(default_factory=list)
    loops: int = 0
    sites: int = 0

    def next(self) -> int:
        return self.values.pop() if self.values else 0


@dataclass(frozen=True)
class Shape:
    """A random program: `known` says whether the bound or condition is one."""

    kind: str
    bound: int
    known: bool
    inner: tuple[Shape, ...] = ()


Row = tuple[Shape, int, "list[Row]"]
SHAPES = st.recursive(
    st.builds(Shape, st.just("for"), st.integers(0, 3), st.booleans()),
    lambda inner: st.builds(
        Shape,
        st.sampled_from(["for", "if", "while"]),
        st.integers(0, 3),
        st.booleans(),
        st.lists(inner, max_size=3).map(tuple),
    ),
    max_leaves=6,
)


def build(shape: Shape, machine: Machine, every: bool) -> tuple[Node, ...]:
    """The plan's nodes of `shape`; sites and loops are numbered alike for both plans."""
    number, machine.loops = machine.loops, machine.loops + 1
    site, machine.sites = machine.sites, machine.sites + 2
    probe: tuple[Node, ...] = () if shape.known and shape.kind != "while" else (Value(site),)
    bound: Expression = Probed(site) if probe else Constant(shape.bound)
    body = tuple(node for each in shape.inner for node in build(each, machine, every))
    own = site + 1 if every else NONE
    if shape.kind == "for":
        return (*probe, Loop(number, ZERO, bound, ONE, body, own))
    if shape.kind == "while":
        return (While(number, probe, bound, body, own),)
    return (*probe, Branch(bound, body))


def numbered(shapes: tuple[Shape, ...], first: int = 0) -> list[Row]:
    """Each shape with its number and its inner ones, in the order of `build`."""
    rows = []
    for shape in shapes:
        inner = numbered(shape.inner, first + 1)
        rows.append((shape, first, inner))
        first += 1 + count(shape.inner)
    return rows


def count(shapes: tuple[Shape, ...]) -> int:
    return sum(1 + count(shape.inner) for shape in shapes)


def perform(rows: list[Row], machine: Machine) -> None:
    """What the program does, told without plans and expressions."""
    for shape, number, inner in rows:
        site = 2 * number
        if shape.kind == "while":
            _perform_while(number, inner, machine)
            continue
        bound = shape.bound if shape.known else machine.next()
        if not shape.known:
            machine.few.append((site, bound))
            machine.all.append((site, bound))
        if shape.kind == "if":
            perform(inner if bound else [], machine)
            continue
        for value in range(bound):
            machine.all.append((site + 1, value))
            perform(inner, machine)


def _perform_while(number: int, inner: list[Row], machine: Machine) -> None:
    while True:
        more = machine.next() % 2
        machine.few.append((2 * number, more))
        machine.all.append((2 * number, more))
        if not more:
            return
        machine.all.append((2 * number + 1, 0))
        perform(inner, machine)


@given(st.lists(SHAPES, max_size=3), st.lists(st.integers(0, 3), max_size=40))
def test_reconstruction_equals_the_full_trace(shapes: list[Shape], values: list[int]) -> None:
    few, every = _plan(shapes, False), _plan(shapes, True)
    machine = Machine(list(values))
    perform(numbered(tuple(shapes)), machine)
    full = list(recorded(every, [run_of(*machine.all)]))
    assert list(reconstruct(few, [run_of(*machine.few)])) == full
    assert list(reconstruct(every, [run_of(*machine.all)])) == full


def _plan(shapes: list[Shape], every: bool) -> Plan:
    machine = Machine([])
    return plan_of(*(node for shape in shapes for node in build(shape, machine, every)))
