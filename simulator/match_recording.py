"""Whether a recording and a module belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xpu_shark.simulator.recording import Recording
from xpu_shark.simulator.workload import (
    Command,
    Concurrent,
    Launch,
    Repeat,
    Workload,
    launches,
)


class MismatchError(ValueError):
    """The recording is of another module; says the first difference in one line."""


def check(workload: Workload, recording: Recording) -> None:
    """Raises `MismatchError` with the first difference, in the order of the run."""
    known = {kernel.name for kernel in workload.kernels}
    sites = launch_sites(workload)
    for number in dict.fromkeys(n for call in recording.calls for n in call.order):
        event = recording.events[number]
        if event.what != "dispatch":
            continue
        if event.kernel not in known:
            raise MismatchError(f"the run launches {event.kernel}, the module has no such kernel")
        counts = {len(site.constants) for _, site in sites.get(event.kernel, ())}
        if event.constants is not None and counts and len(event.constants) not in counts:
            want = " or ".join(map(str, sorted(counts)))
            raise MismatchError(
                f"{event.kernel} takes {want} constants in the module, "
                f"{len(event.constants)} in the run"
            )
    if recording.whole:
        _check_launched(workload, recording)


def _check_launched(workload: Workload, recording: Recording) -> None:
    ran: dict[str, set[str]] = {}
    for call in recording.calls:
        names = {recording.events[number].kernel for number in set(call.order)}
        ran.setdefault(call.function, set()).update(names)
    for function in workload.functions:
        for name in _always(function.body):
            if function.name in ran and name not in ran[function.name]:
                raise MismatchError(
                    f"{function.name} of the module launches {name}, the run never does"
                )


def _always(body: Sequence[Command]) -> Iterator[str]:
    """Kernels that every call launches."""
    for item in body:
        if isinstance(item, Launch):
            yield item.kernel
        elif isinstance(item, Concurrent):
            yield from _always(item.body)
        elif isinstance(item, Repeat) and isinstance(item.trips, int) and item.trips > 0:
            yield from _always(item.body)


def launch_sites(workload: Workload) -> dict[str, list[tuple[str, Launch]]]:
    """Launch sites by kernel, each with the name of its function."""
    found: dict[str, list[tuple[str, Launch]]] = {}
    for function in workload.functions:
        for site in launches(function.body):
            found.setdefault(site.kernel, []).append((function.name, site))
    return found
