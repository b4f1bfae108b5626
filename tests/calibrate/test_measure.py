"""Rounds of measuring with made-up times: when they are repeated, and when they are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from xpu_shark.compiler.calibrate import measure
from xpu_shark.compiler.calibrate.kernels import Kernel
from xpu_shark.compiler.errors import UsageError
from xpu_shark.compiler.trace.model import SETUP, Iteration, Kind, Launches, Trace


class _Clock(measure.Clock):
    """Time passes only while something is waited for."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:  # type: ignore[override]
        return self.at

    def wait(self, seconds: float) -> None:  # type: ignore[override]
        self.at += seconds


def _kernels(count: int = 1) -> list[Kernel]:
    return [Kernel(f"k{number}", "", ()) for number in range(count)]


def _rounds(*rounds: list[float]) -> tuple[Callable[[Kernel], list[float]], list[str]]:
    """What is measured round by round, the last one again and again; and a log of the calls."""
    left: Iterator[list[float]] = iter(rounds)
    calls: list[str] = []

    def one(kernel: Kernel) -> list[float]:
        calls.append(kernel.name)
        return next(left, rounds[-1])

    return one, calls


def test_two_rounds_that_agree_are_enough() -> None:
    one, calls = _rounds([100.0, 101.0, 99.0], [102.0, 101.0, 103.0])
    found = measure.measure_all(_kernels(), one, _Clock())
    assert found["k0"].ns == 101.0  # the median of all six
    assert found["k0"].spread == pytest.approx(0.01)
    assert len(calls) == 2


def test_rounds_are_repeated_until_the_two_quickest_agree() -> None:
    one, calls = _rounds([150.0], [100.0], [130.0], [101.0])
    found = measure.measure_all(_kernels(), one, _Clock())
    assert found["k0"].ns == (100.0 + 101.0) / 2  # of the two
    assert found["k0"].spread == pytest.approx((101.0 + 130.0) / 2 / 100.0 - 1)  # of all
    assert len(calls) == 4


def test_disturbed_rounds_do_not_count() -> None:
    one, calls = _rounds([], [], [100.0], [100.0])
    assert measure.measure_all(_kernels(), one, _Clock())["k0"] == measure.Timing(100.0, 0.0)
    assert len(calls) == 4


def test_a_machine_that_is_never_left_alone_is_refused_in_one_line() -> None:
    one, _ = _rounds([])
    clock = _Clock()
    with pytest.raises(UsageError, match="disturbed k0 in every call for 20 s; stop other work"):
        measure.measure_all(_kernels(), one, clock)
    assert clock.at == pytest.approx(measure.PATIENCE_S, abs=1.0)


def _scattered(*names: str) -> Callable[[Kernel], list[float]]:
    """Rounds of 100, 200, 190 and 180 ns for kernels of these names, of 100 ns for others; the
    median of all four is 185, k1's twice as far off."""
    left = {name: iter((100.0, 200.0, 190.0, 180.0)) for name in names}

    def one(kernel: Kernel) -> list[float]:
        time = next(left[kernel.name]) if kernel.name in left else 100.0
        return [time if kernel.name == "k0" or time == 100.0 else 2 * time - 100.0]

    return one


def test_a_machine_whose_times_scatter_is_refused_with_the_worst_kernel() -> None:
    problem = "too noisy: 2 of 2 kernels vary by more than 50%, k1 by 170%; stop other work on it"
    with pytest.raises(UsageError, match=problem):
        measure.measure_all(_kernels(2), _scattered("k0", "k1"), _Clock())


def test_one_kernel_that_scatters_among_many_is_only_reported() -> None:
    found = measure.measure_all(_kernels(10), _scattered("k0"), _Clock())
    assert found["k0"] == measure.Timing(140.0, pytest.approx(0.85))  # type: ignore[arg-type]
    assert {timing.spread for name, timing in found.items() if name != "k0"} == {0.0}


def test_only_dispatches_of_undisturbed_calls_are_times() -> None:
    trace = Trace(
        kinds=(Kind(what="dispatch", export="k"), Kind(what="fill")),
        launches=Launches(
            np.array([0, 1, 0, 0]), np.array([0, 10, 20, 30]), np.array([7, 1, 8, 90])
        ),
        iterations=(
            Iteration(function=SETUP, first=0, launches=1),
            Iteration(function="f", first=1, launches=2),
            Iteration(function="f", first=3, launches=1, contended=True),
        ),
    )
    assert measure.launches(trace) == [8]
