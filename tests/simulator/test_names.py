"""Names that sizes, loops and branches go by."""

from __future__ import annotations

from xpu_shark.simulator.evaluate import Settings, simulate
from xpu_shark.simulator.names import known_names, unused
from xpu_shark.simulator.symbolic import apply, symbol
from xpu_shark.simulator.target import load
from xpu_shark.simulator.workload import Choice, Function, Move, Repeat, Workload

COPY = Move(kind="copy", bytes=apply("mul", symbol("input0.0"), 4))
LOOP = Repeat(trips=apply("max", 0, symbol("input1")), body=(COPY,), name="f.loop0")
BRANCH = Choice(arms=((LOOP,), ()), name="f.branch0")
WORKLOAD = Workload(kernels=(), functions=(Function(name="f", body=(BRANCH,)),))


def test_all_that_is_open_has_a_name() -> None:
    assert known_names(WORKLOAD) == ("f.branch0", "input1", "f.loop0", "input0.0")


def test_a_name_may_say_its_function() -> None:
    given = {"f.input0.0": 1, "input1": 2, "f.branch0": 0, "g.input0.0": 3, "input0": 4}
    assert unused(WORKLOAD, given) == ("g.input0.0", "input0")


def test_a_loop_turns_as_often_as_its_own_name_says() -> None:
    # The loop's count is max(0, input1); whoever knows only the count gives it to the loop.
    dims = {"f.branch0": 0, "input0.0": 8, "f.loop0": 7}
    report = simulate(WORKLOAD, Settings(load("tiny"), dims))
    assert [command.launches for command in report.commands] == [7]
    assert report.functions[0].unknown == ()
