"""Simulates what a run launched instead of what the host program might launch.

A recording gives every launch in order with its constants, so dynamic sizes, trip counts,
branches and order are known. Calls that launched the same commands equally often are alike and
are simulated once; the report holds one call of each kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from statistics import median
from typing import Final, Literal

import msgspec

from xpu_shark.simulator.bind import kernel_symbols
from xpu_shark.simulator.evaluate import Settings, simulate
from xpu_shark.simulator.match_recording import check, launch_sites
from xpu_shark.simulator.recorded_program import MOVES, Group, Sites, alike, functions
from xpu_shark.simulator.recording import Call, Event, Recording
from xpu_shark.simulator.result import Command, Dispatch, Report
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.workload import (
    Kernel,
    Launch,
    Workload,
)

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
        """Below the bound the model is wrong; above serial is what no unit is busy with."""
        if self.measured_ps is None or self.bound_ps is None or self.serial_ps is None:
            return None
        if self.measured_ps < self.bound_ps:
            return "below bound"
        return "above serial" if self.measured_ps > self.serial_ps else "within bounds"


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """`measured_ps` has the median clean duration of one launch by event number.

    `report` is of `workload`, whose functions run what was recorded.
    `events` gives for each event its records among the report's dispatches; none for moves.
    `unmodelled` counts launches of commands that no target describes.
    """

    workload: Workload
    report: Report
    steps: tuple[Step, ...]
    recorded: int
    events: tuple[tuple[Dispatch, ...], ...]
    measured_ps: dict[int, int]
    unmodelled: tuple[tuple[str, int], ...]


def replay(workload: Workload, recording: Recording, settings: Settings) -> Replay:
    """Raises `MismatchError` where the recording is of another module."""
    known = {kernel.name: kernel for kernel in workload.kernels}
    sites = {name: tuple(found) for name, found in launch_sites(workload).items()}
    check(workload, recording)
    groups = alike(recording)
    ran, lost = functions(workload, recording, groups, sites)
    recorded = Workload(kernels=workload.kernels, functions=ran)
    report = simulate(recorded, settings)
    report = _placed(report, sites, lost)
    found = _records(recording.events, known, report.dispatches)
    same = _same_device(recording, settings.target)
    steps = tuple(_step(recording, group, found, same) for group in groups)
    return Replay(
        workload=recorded,
        report=report,
        steps=steps,
        recorded=sum(len(call.order) for call in recording.calls),
        events=found,
        measured_ps=_medians(recording) if same else {},
        unmodelled=_unmodelled(recording),
    )


def _same_device(recording: Recording, target: Target) -> bool:
    """By name, and by machine where the target file is of one."""
    if recording.target != target.name:
        return False
    return not target.device or not recording.device or recording.device == target.device


def _placed(report: Report, sites: Sites, lost: set[str]) -> Report:
    """The report with the places that dispatches of functions that are `lost` may come from."""
    dispatches = []
    for item in report.dispatches:
        found = [site for name, site in sites.get(item.name, ()) if _may_be(item, name, site)]
        places = tuple(dict.fromkeys(site.location for site in found if site.location))
        if item.function in lost and places:
            item = msgspec.structs.replace(item, locations=places, sites=len(found))
        dispatches.append(item)
    return msgspec.structs.replace(report, dispatches=tuple(dispatches))


def _may_be(item: Dispatch, function: str, site: Launch) -> bool:
    """Whether a launch at `site` can have had the sizes of `item`."""
    return function == item.function and all(
        have is None or not isinstance(want, int) or have == want
        for have, want in zip(item.constants, site.constants, strict=False)
    )


def _records(
    events: Iterable[Event], known: Mapping[str, Kernel], dispatches: Iterable[Dispatch]
) -> tuple[tuple[Dispatch, ...], ...]:
    """For each event the records of its launches; several where some find more in a scratchpad."""
    found: dict[object, list[Dispatch]] = {}
    for item in dispatches:
        for constants in (item.constants, None):
            found.setdefault((item.name, item.trips, constants), []).append(item)
    return tuple(tuple(found.get(_key(event, known), ())) for event in events)


def _key(event: Event, known: Mapping[str, Kernel]) -> object:
    """Name and sizes of a launch as its record has them: only constants that a size depends on."""
    if event.what != "dispatch" or event.constants is None:
        return event.kernel, event.trips, None
    needed = kernel_symbols(known[event.kernel])
    constants = tuple(
        value if f"constant{number}" in needed else None
        for number, value in enumerate(event.constants)
    )
    return event.kernel, event.trips, constants


def launch_ps(records: tuple[Dispatch, ...]) -> tuple[int, int, int] | None:
    """Time, bound and serial time of one launch, the mean over `records`; None where unknown."""
    known = [d for d in records if d.run is not None]
    if not records or any(d.missing or (not d.run and d.state != "modelled") for d in records):
        return None
    count = sum(d.launches for d in records)
    sums = [0, 0, 0]
    for item in known:
        assert item.run is not None
        times = (item.run.time_ps, item.run.bounds.bound_ps, item.run.bounds.serial_ps)
        sums = [total + item.launches * each for total, each in zip(sums, times, strict=True)]
    time, bound, serial = (round(total / count) for total in sums)
    return time, bound, serial


def _step(
    recording: Recording, group: Group, records: tuple[tuple[Dispatch, ...], ...], same: bool
) -> Step:
    totals: list[int] | list[None] = [0, 0, 0]
    for number, count in group.counts.items():
        if recording.events[number].what != "dispatch":
            continue
        times = launch_ps(records[number])
        if times is None:
            totals = [None, None, None]
            break
        totals = [a + count * b for a, b in zip(totals, times, strict=True) if a is not None]
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
            if what not in MOVES and what != "dispatch":
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
    launches = [launch_ps(records) for records in found.events]
    now = 0
    for number, call in enumerate(recording.calls):
        for at in call.order:
            event = recording.events[at]
            times = launches[at]
            moved = moves.get((MOVES.get(event.what), event.bytes), 0)
            time_ps = times[0] if times else moved
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
    """By what a recording calls them: a transfer is a copy there."""
    return {
        ("copy" if item.kind == "transfer" else item.kind, item.payload_bytes): item.time_ps or 0
        for item in commands
    }
