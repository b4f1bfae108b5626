"""Simulates what a run launched instead of what the host program might launch.

A recording gives every launch in order with its constants, so dynamic sizes, trip counts,
branches and order are known. Calls that launched the same commands equally often are alike and
are simulated once; the report holds one call of each kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

import msgspec

from xpu_shark.simulator.bind import kernel_symbols
from xpu_shark.simulator.evaluate import Settings, simulate
from xpu_shark.simulator.match_recording import check, launch_sites
from xpu_shark.simulator.recording import Call, Event, Recording
from xpu_shark.simulator.result import Command, Dispatch, Report
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.workload import Command as Item
from xpu_shark.simulator.workload import (
    Function,
    Kernel,
    Launch,
    Move,
    Repeat,
    Workload,
)

_MOVES: Final[dict[str, Literal["fill", "copy"]]] = {
    "fill": "fill",
    "copy": "copy",
    "update": "fill",  # bytes that come with the command: only a write
}
PS_PER_NS: Final = 1000
Verdict = Literal["below bound", "within bounds", "above serial"]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of one function that are alike: `first` is the number of the first, of `calls`.

    Times are of the dispatches of one call, in picoseconds; None where a size is missing.
    Measured ones are medians over the clean calls; None where the target is another device.
    """

    function: str
    first: int
    calls: int
    launches: int
    clean: int
    time_ps: int | None
    bound_ps: int | None
    serial_ps: int | None
    measured_ps: int | None
    span_ps: int | None

    @property
    def residual_ps(self) -> int | None:
        """Measured less simulated."""
        if self.measured_ps is None or self.time_ps is None:
            return None
        return self.measured_ps - self.time_ps

    @property
    def verdict(self) -> Verdict | None:
        """Below the bound the model is wrong; above serial is overhead outside the kernels."""
        if self.measured_ps is None or self.bound_ps is None or self.serial_ps is None:
            return None
        if self.measured_ps < self.bound_ps:
            return "below bound"
        return "above serial" if self.measured_ps > self.serial_ps else "within bounds"


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """`measured_ps` has the median clean duration of one launch by event number.

    `events` gives for each event the place of its record in the report's dispatches; -1 for
    moves. `unmodelled` counts launches of commands that no target describes.
    """

    report: Report
    steps: tuple[Step, ...]
    recorded: int
    events: tuple[int, ...]
    measured_ps: dict[int, int]
    unmodelled: tuple[tuple[str, int], ...]


def replay(workload: Workload, recording: Recording, settings: Settings) -> Replay:
    """Raises `MismatchError` where the recording is of another module."""
    known = {kernel.name: kernel for kernel in workload.kernels}
    sites = {name: tuple(found) for name, found in launch_sites(workload).items()}
    check(workload, recording)
    groups = _alike(recording)
    functions = _functions(workload, recording, groups, sites)
    bound = Workload(kernels=workload.kernels, functions=functions)
    report = _placed(simulate(bound, settings), sites)
    places = tuple(_place(event, known, report.dispatches) for event in recording.events)
    same = _same_device(recording, settings.target)
    steps = tuple(_step(recording, group, places, report, same) for group in groups)
    return Replay(
        report=report,
        steps=steps,
        recorded=sum(len(call.order) for call in recording.calls),
        events=places,
        measured_ps=_medians(recording) if same else {},
        unmodelled=_unmodelled(recording),
    )


def _same_device(recording: Recording, target: Target) -> bool:
    """By name, and by machine where the target file is of one."""
    if recording.target != target.name:
        return False
    return not target.device or not recording.device or recording.device == target.device


@dataclass(frozen=True)
class _Group:
    function: str
    numbers: tuple[int, ...]  # of the calls that are alike
    counts: Mapping[int, int]  # launches by event, in order of first launch


def _alike(recording: Recording) -> tuple[_Group, ...]:
    found: dict[object, tuple[str, list[int], Mapping[int, int]]] = {}
    for number, call in enumerate(recording.calls):
        counts = Counter(call.order)
        key = (call.function, frozenset(counts.items()))
        found.setdefault(key, (call.function, [], counts))[1].append(number)
    return tuple(_Group(name, tuple(calls), counts) for name, calls, counts in found.values())


def _functions(
    workload: Workload,
    recording: Recording,
    groups: tuple[_Group, ...],
    sites: Mapping[str, tuple[tuple[str, Launch], ...]],
) -> tuple[Function, ...]:
    """For each function that ran: its launches, one call of each kind, as a host program."""
    locations = {function.name: function.location for function in workload.functions}
    bodies: dict[str, list[Item]] = {}
    for group in groups:
        body = bodies.setdefault(group.function, [])
        for number, count in group.counts.items():
            item = _item(recording.events[number], sites)
            if item is not None:
                body.append(Repeat(trips=count, body=(item,)))
    return tuple(
        Function(name=name, body=tuple(body), location=locations.get(name, ""))
        for name, body in bodies.items()
    )


def _item(event: Event, sites: Mapping[str, tuple[tuple[str, Launch], ...]]) -> Item | None:
    if event.what in _MOVES:
        return Move(kind=_MOVES[event.what], bytes=event.bytes)
    if event.what != "dispatch":
        return None
    if event.constants is not None:
        return Launch(kernel=event.kernel, constants=event.constants, trips=event.trips)
    found = {site.constants for _, site in sites.get(event.kernel, ())}
    fixed = found.pop() if len(found) == 1 else ()
    return Launch(kernel=event.kernel, constants=fixed, trips=event.trips)


def _placed(report: Report, sites: Mapping[str, tuple[tuple[str, Launch], ...]]) -> Report:
    """The report with the places in the program that each dispatch may come from."""
    dispatches = []
    for item in report.dispatches:
        found = [site for name, site in sites.get(item.name, ()) if _may_be(item, name, site)]
        places = tuple(dict.fromkeys(site.location for site in found if site.location))
        dispatches.append(
            msgspec.structs.replace(
                item, locations=places or item.locations, sites=max(1, len(found))
            )
        )
    return msgspec.structs.replace(report, dispatches=tuple(dispatches))


def _may_be(item: Dispatch, function: str, site: Launch) -> bool:
    """Whether a launch at `site` can have had the sizes of `item`."""
    return function == item.function and all(
        have is None or not isinstance(want, int) or have == want
        for have, want in zip(item.constants, site.constants, strict=False)
    )


def _place(event: Event, known: Mapping[str, Kernel], dispatches: tuple[Dispatch, ...]) -> int:
    """Number of the record of `event` among the report's dispatches; -1 for none."""
    if event.what != "dispatch":
        return -1
    needed = kernel_symbols(known[event.kernel])
    for number, item in enumerate(dispatches):
        same = item.name == event.kernel and item.trips == event.trips
        if same and (
            event.constants is None
            or all(
                item.constants[n] == value
                for n, value in enumerate(event.constants)
                if f"constant{n}" in needed
            )
        ):
            return number
    return -1


def _step(
    recording: Recording, group: _Group, places: tuple[int, ...], report: Report, same: bool
) -> Step:
    totals: list[int | None] = [0, 0, 0]
    for number, count in group.counts.items():
        if recording.events[number].what != "dispatch":
            continue
        found = report.dispatches[places[number]] if places[number] >= 0 else None
        if found is None or found.missing or (found.run is None and found.state != "modelled"):
            totals = [None, None, None]
            break
        if run := found.run:
            values = (run.time_ps, run.bounds.bound_ps, run.bounds.serial_ps)
            totals = [a + count * b for a, b in zip(totals, values, strict=True) if a is not None]
    calls = [recording.calls[number] for number in group.numbers]
    measured = [sum_ns for call in calls if (sum_ns := _measured(recording, call)) is not None]
    spans = [call.span_ns for call in calls if call.clean and call.span_ns >= 0]
    return Step(
        function=group.function,
        first=group.numbers[0],
        calls=len(calls),
        launches=sum(group.counts.values()),
        clean=sum(call.clean for call in calls),
        time_ps=totals[0],
        bound_ps=totals[1],
        serial_ps=totals[2],
        measured_ps=round(median(measured) * PS_PER_NS) if measured and same else None,
        span_ps=round(median(spans) * PS_PER_NS) if spans and same else None,
    )


def _measured(recording: Recording, call: Call) -> int | None:
    """Sum of the dispatches' times of a clean call; None where one was not timed."""
    if not call.clean or len(call.durations_ns) != len(call.order):
        return None
    total = 0
    for number, duration in zip(call.order, call.durations_ns, strict=True):
        if recording.events[number].what == "dispatch":
            if duration < 0:
                return None
            total += duration
    return total


def _medians(recording: Recording) -> dict[int, int]:
    times: dict[int, list[int]] = {}
    for call in recording.calls:
        if call.clean and len(call.durations_ns) == len(call.order):
            for number, duration in zip(call.order, call.durations_ns, strict=True):
                if duration >= 0:
                    times.setdefault(number, []).append(duration)
    return {number: round(median(found) * PS_PER_NS) for number, found in sorted(times.items())}


def _unmodelled(recording: Recording) -> tuple[tuple[str, int], ...]:
    counts: Counter[str] = Counter()
    for call in recording.calls:
        for number, count in Counter(call.order).items():
            what = recording.events[number].what
            if what not in _MOVES and what != "dispatch":
                counts[what] += count
    return tuple(sorted(counts.items()))


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One launch on the timeline: simulated start and time, and the measured time if known."""

    call: int
    event: int
    what: str
    name: str
    start_ps: int
    time_ps: int


def timeline(recording: Recording, found: Replay) -> Iterator[Shown]:
    """Every recorded launch, one after another as one queue runs them.

    What has no simulated time (unmodelled, or of a missing size) takes none.
    """
    moves = _move_times(found.report.commands)
    now = 0
    for number, call in enumerate(recording.calls):
        for at in call.order:
            event = recording.events[at]
            place = found.events[at]
            run = found.report.dispatches[place].run if place >= 0 else None
            time_ps = run.time_ps if run else moves.get((_MOVES.get(event.what), event.bytes), 0)
            yield Shown(
                call=number,
                event=at,
                what=event.what,
                name=event.kernel or event.what,
                start_ps=now,
                time_ps=time_ps,
            )
            now += time_ps


def _move_times(commands: tuple[Command, ...]) -> dict[tuple[str | None, int | None], int]:
    return {(item.kind, item.payload_bytes): item.time_ps or 0 for item in commands}
