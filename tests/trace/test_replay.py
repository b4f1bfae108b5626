"""The simulator on recorded launches: sizes, counts, order, measured beside simulated."""

from __future__ import annotations

import msgspec
import pytest

from xpu_shark.simulator import target as targets
from xpu_shark.simulator.evaluate import Settings, simulate
from xpu_shark.simulator.match_recording import MismatchError
from xpu_shark.simulator.recording import Call, Event, Recording
from xpu_shark.simulator.replay import Replay, replay, timeline
from xpu_shark.simulator.symbolic import Expr, symbol
from xpu_shark.simulator.workload import (
    Access,
    Choice,
    Dim,
    Function,
    Index,
    Kernel,
    Launch,
    Nest,
    Repeat,
    Tensor,
    Work,
    Workload,
)

TINY = Settings(targets.load("tiny"))


def copy_kernel(name: str) -> Kernel:
    """Adds up a vector of `constant0` floats."""
    size = symbol("constant0")
    access = Access(tensor=0, map=(Index(terms=((0, 1),)),))
    nest = Nest(
        name="add",
        dims=(Dim(extent=size, kind="parallel"),),
        reads=(access,),
        writes=(msgspec.structs.replace(access, tensor=1),),
        work=(Work(kind="add", element="f32"),),
    )
    tensors = tuple(Tensor(shape=(size,), element="f32", storage="global") for _ in range(2))
    return Kernel(name=name, tensors=tensors, nests=(nest,))


def site(kernel: str, size: int | Expr, location: str) -> Launch:
    return Launch(kernel=kernel, constants=(size,), location=location)


# main launches `a` once, then `b` as often as a loop of unknown length turns, or `c`.
PROGRAM = Workload(
    kernels=(copy_kernel("a"), copy_kernel("b"), copy_kernel("c")),
    functions=(
        Function(
            name="main",
            body=(
                site("a", 64, "m:1:1"),
                Repeat(
                    trips=symbol("main.loop0"),
                    name="main.loop0",
                    body=(site("b", symbol("input0.0"), "m:2:1"), site("b", 8, "m:3:1")),
                ),
                Choice(arms=((site("c", 4, "m:4:1"),), ()), name="main.branch0"),
            ),
        ),
    ),
)
EVENTS = (
    Event(what="dispatch", kernel="a", constants=(64,)),
    Event(what="dispatch", kernel="b", constants=(32,)),
    Event(what="dispatch", kernel="b", constants=(8,)),
    Event(what="copy", bytes=256),
    Event(what="read", bytes=1024),
)


def run(*calls: Call, target: str = "", whole: bool = True) -> Replay:
    return replay(PROGRAM, Recording(events=EVENTS, calls=calls, target=target, whole=whole), TINY)


def one_launch_ps(kernel: str, size: int) -> int:
    function = Function(name="f", body=(site(kernel, size, ""),))
    report = simulate(Workload(kernels=PROGRAM.kernels, functions=(function,)), TINY)
    assert report.dispatches[0].run is not None
    return report.dispatches[0].run.time_ps


def test_launches_are_counted_as_they_ran_and_keep_their_places() -> None:
    found = run(Call("main", (0, 1, 2, 1, 2, 1, 2)))
    (function,) = found.report.functions
    assert (function.launches, function.unknown) == (7, ())
    by_size = {(d.name, d.constants): d for d in found.report.dispatches}
    assert by_size["a", (64,)].locations == ("m:1:1",)
    assert by_size["b", (32,)].launches == 3
    # a constant of 32 can only be of the site whose size the program does not know
    assert by_size["b", (32,)].locations == ("m:2:1",)
    assert by_size["b", (8,)].locations == ("m:3:1",)  # as it comes after the other
    total = one_launch_ps("a", 64) + 3 * (one_launch_ps("b", 32) + one_launch_ps("b", 8))
    assert function.time_ps == found.steps[0].time_ps == total


def test_calls_that_are_alike_are_one_step_and_others_their_own() -> None:
    found = run(Call("main", (0, 1)), Call("main", (0, 2)), Call("main", (1, 0)))
    assert [(step.first, step.calls, step.launches) for step in found.steps] == [
        (0, 2, 2),
        (1, 1, 2),
    ]
    assert found.recorded == 6


def test_every_recorded_launch_is_on_the_timeline_in_order() -> None:
    recording = Recording(
        events=EVENTS, calls=(Call("main", (0, 3, 1)), Call("main", (0, 1, 4))), whole=False
    )
    found = replay(PROGRAM, recording, TINY)
    shown = list(timeline(recording, found))
    assert [each.event for each in shown] == [0, 3, 1, 0, 1, 4]
    assert shown[0].time_ps == one_launch_ps("a", 64)
    assert shown[1].name == "copy"
    assert shown[1].time_ps == found.report.commands[0].time_ps
    ends = [each.start_ps + each.time_ps for each in shown]
    assert [each.start_ps for each in shown[1:]] == ends[:-1]


def test_what_no_target_describes_is_counted() -> None:
    assert run(Call("main", (0, 4, 4, 1))).unmodelled == (("read", 2),)


def timed(*durations: int, clean: bool = True) -> Call:
    return Call("main", (0, 3, 1), durations, span_ns=sum(durations), clean=clean)


def test_measured_is_the_median_of_clean_calls_where_the_target_is_the_device() -> None:
    calls = (timed(100, 5, 30), timed(120, 5, 40), timed(9000, 5, 9000, clean=False))
    found = run(*calls, target="tiny")
    (step,) = found.steps
    assert step.measured_ps == 145_000  # dispatches only: median of 130 and 160 ns
    assert step.residual_ps == 145_000 - (step.time_ps or 0)
    assert (step.calls, step.clean) == (3, 2)
    assert found.measured_ps[0] == 110_000
    assert run(*calls, target="h100").steps[0].measured_ps is None


def test_a_target_measured_on_another_machine_is_not_the_device() -> None:
    calls = (timed(100, 5, 30),)
    mine = msgspec.structs.replace(TINY.target, device="mine, 2 cores")
    for device, measured in (("mine, 2 cores", True), ("yours, 2 cores", False), ("", True)):
        recording = Recording(events=EVENTS, calls=calls, target="tiny", device=device)
        (step,) = replay(PROGRAM, recording, Settings(mine)).steps
        assert (step.measured_ps is not None) == measured


def test_without_a_clean_call_nothing_is_measured() -> None:
    (step,) = run(timed(100, 5, 30, clean=False), target="tiny").steps
    assert (step.measured_ps, step.verdict, step.span_ps) == (None, None, None)


def test_the_verdict_tells_on_which_side_of_the_bounds_a_time_is() -> None:
    (step,) = run(timed(1, 0, 0), target="tiny").steps
    assert step.bound_ps is not None
    assert step.serial_ps is not None
    set_to = {"below bound": step.bound_ps - 1, "above serial": step.serial_ps + 1}
    set_to["within bounds"] = step.bound_ps
    for verdict, measured in set_to.items():
        assert msgspec.structs.replace(step, measured_ps=measured).verdict == verdict


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Event(what="dispatch", kernel="z"), "the run launches z, the module has no such kernel"),
        (
            Event(what="dispatch", kernel="a", constants=(1, 2)),
            "a takes 1 constants in the module, 2 in the run",
        ),
    ],
)
def test_another_module_is_refused_with_the_first_difference(event: Event, said: str) -> None:
    recording = Recording(events=(event,), calls=(Call("main", (0,)),))
    with pytest.raises(MismatchError) as caught:
        replay(PROGRAM, recording, TINY)
    assert said in str(caught.value)


def test_a_launch_that_never_happened_is_a_difference_unless_the_trace_has_gaps() -> None:
    with pytest.raises(MismatchError, match="main of the module launches a, the run never does"):
        run(Call("main", (1,)))
    assert run(Call("main", (1,)), whole=False).recorded == 1


def test_without_constants_a_size_that_the_program_fixes_is_used() -> None:
    events = (Event(what="dispatch", kernel="a", constants=None),)
    calls = (Call("main", (0,)),)
    found = replay(PROGRAM, Recording(events=events, calls=calls), TINY)
    assert found.steps[0].time_ps == one_launch_ps("a", 64)


def test_without_constants_a_size_of_the_run_is_missing_and_said() -> None:
    events = (
        Event(what="dispatch", kernel="a", constants=None),
        Event(what="dispatch", kernel="b", constants=None),
    )
    calls = (Call("main", (0, 1)),)
    found = replay(PROGRAM, Recording(events=events, calls=calls), TINY)
    assert found.steps[0].time_ps is None
    assert [d.name for d in found.report.dispatches if d.missing] == ["b"]
