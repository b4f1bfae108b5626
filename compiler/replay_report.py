"""What a replayed trace adds to a report: calls, and measured beside simulated time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xpu_shark.passes.annotate import wording
from xpu_shark.simulator.replay import Replay, Step, launch_ps
from xpu_shark.simulator.result import Dispatch
from xpu_shark.simulator.workload import trip_counts

_VERDICTS = {
    "below bound": "below the bound: the model is wrong here",
    "within bounds": "between bound and serial",
    "above serial": "above serial: latency, or overhead outside the kernels",
}


def rows(found: Replay) -> Iterator[dict[str, Any]]:
    """A `call` row for each kind of call, then a `measured` row for each timed dispatch."""
    for step in found.steps:
        yield {
            "type": "call",
            "function": step.function,
            "first": step.first,
            "calls": step.calls,
            "launches": step.launches,
            "recorded": found.recorded,
            "time_ns": _ns(step.time_ps),
            "bound_ns": _ns(step.bound_ps),
            "serial_ns": _ns(step.serial_ps),
            "clean": step.clean,
            "measured_ns": _ns(step.measured_ps),
            "span_ns": _ns(step.span_ps),
            "residual_ns": _ns(step.residual_ps),
            "verdict": step.verdict,
        }
    for event, measured in found.measured_ps.items():
        if records := found.events[event]:
            item, times = records[0], launch_ps(records)
            yield {
                "type": "measured",
                "function": item.function,
                "name": item.name,
                "constants": item.constants,
                "trips": trips(item),
                "time_ns": _ns(times[0] if times else None),
                "measured_ns": _ns(measured),
            }


def table(found: Replay) -> Iterator[str]:
    """A line for each kind of call, in the order of the run."""
    kinds = "kind" if len(found.steps) == 1 else "kinds"
    calls = sum(step.calls for step in found.steps)
    yield f"trace: {found.recorded} launches in {calls} calls of {len(found.steps)} {kinds}"
    for step in found.steps:
        yield f"  {_line(step)}"
    for what, count in found.unmodelled:
        yield f"  {count} x {what}: not modelled"


def _line(step: Step) -> str:
    repeats = f" and {step.calls - 1} like it" if step.calls > 1 else ""
    head = f"call {step.first} of {step.function}{repeats}: {step.launches} launches"
    if step.time_ps is None or step.bound_ps is None or step.serial_ps is None:
        return f"{head}, no time: sizes are missing"
    interval = f"[{wording.time(step.bound_ps)}, {wording.time(step.serial_ps)}]"
    head += f", kernels simulated {wording.time(step.time_ps)} in {interval}"
    if step.measured_ps is None or step.verdict is None or step.residual_ps is None:
        return head
    sign = "-" if step.residual_ps < 0 else "+"
    residual = f"{sign}{wording.time(abs(step.residual_ps))}"
    clean = f"median of {step.clean}" if step.clean > 1 else "1 clean call"
    measured = f"measured {wording.time(step.measured_ps)} ({residual}, {clean})"
    return f"{head}, {measured}: {_VERDICTS[step.verdict]}"


def trips(item: Dispatch) -> dict[str, float]:
    """Turns an entry of the loops whose counts a trace told, by the name of the count."""
    return {name: float(count) for name, count in trip_counts(item.name, item.trips).items()}


def _ns(picoseconds: int | None) -> float | None:
    return None if picoseconds is None else picoseconds / 1000
