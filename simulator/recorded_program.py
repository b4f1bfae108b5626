"""A recording as host programs: for each function that ran, one call of each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from xpu_shark.simulator.bind import kernel_symbols
from xpu_shark.simulator.follow_program import follow
from xpu_shark.simulator.recording import Event, Recording
from xpu_shark.simulator.workload import (
    Collective,
    Command,
    Concurrent,
    Function,
    Launch,
    Move,
    Repeat,
    Workload,
)

MOVES: Final[dict[str, Literal["fill", "copy"]]] = {
    "fill": "fill",
    "copy": "copy",
    "update": "fill",  # bytes that come with the command: only a write
}
# Places of a call's commands, turns of loops that are alike counted once, up to which they are
# simulated where they stand: what stays in a scratchpad takes time with their square.
MOST_PLACES: Final = 4096
Sites = Mapping[str, tuple[tuple[str, Launch], ...]]


@dataclass(frozen=True)
class Group:
    """Calls of `function` that launched the same commands equally often: `numbers` of the calls,
    and launches of each event, in order of first launch."""

    function: str
    numbers: tuple[int, ...]
    counts: Mapping[int, int]


def alike(recording: Recording) -> tuple[Group, ...]:
    found: dict[object, tuple[str, list[int], Mapping[int, int]]] = {}
    for number, call in enumerate(recording.calls):
        counts = Counter(call.order)
        key = (call.function, frozenset(counts.items()))
        found.setdefault(key, (call.function, [], counts))[1].append(number)
    return tuple(Group(name, tuple(calls), counts) for name, calls, counts in found.values())


def functions(
    workload: Workload, recording: Recording, groups: Iterable[Group], sites: Sites
) -> tuple[tuple[Function, ...], set[str]]:
    """For each function that ran: the commands of one call of each group.

    And the names of those with a call that is not in the order of the program.
    """
    lost: set[str] = set()
    known = {function.name: function for function in workload.functions}
    needs = {kernel.name: kernel_symbols(kernel) for kernel in workload.kernels}
    bodies: dict[str, list[Command]] = {}
    moved: dict[str, list[Command]] = {}
    for group in groups:
        program = known.get(group.function)
        found = _followed(recording, group, program.body, needs) if program else None
        if found is None:
            lost.add(group.function)
            found = (), _counted(recording, group, sites)
        moved.setdefault(group.function, []).extend(found[0])
        bodies.setdefault(group.function, []).append(Repeat(trips=1, body=found[1]))
    places = {name: function.location for name, function in known.items()}
    # What nobody knows the buffers of stands first: a result behind it stays where it would.
    ran = (
        Function(name=name, body=(*moved[name], *body), location=places.get(name, ""))
        for name, body in bodies.items()
    )
    return tuple(ran), lost


def _followed(
    recording: Recording,
    group: Group,
    program: tuple[Command, ...],
    needs: Mapping[str, Collection[str]],
) -> tuple[tuple[Command, ...], tuple[Command, ...]] | None:
    """What the run moved and the program does not say, and the call as the program has it."""
    events = [recording.events[number] for number in recording.calls[group.numbers[0]].order]
    body = follow(program, [event for event in events if event.what == "dispatch"], needs)
    if body is None:
        return None
    places = list(_places(body, 1))
    if len(places) > MOST_PLACES:
        return None
    more = Counter((MOVES[event.what], event.bytes) for event in events if event.what in MOVES)
    for command, times in places:
        if isinstance(command, Move):
            if not isinstance(command.bytes, int):
                return None
            more["fill" if command.kind == "fill" else "copy", command.bytes] -= times
    moved = (_moved(kind, size, count) for (kind, size), count in more.items() if count > 0)
    return tuple(moved), body


def _places(body: Iterable[Command], times: int) -> Iterator[tuple[Command, int]]:
    """Each command that is no loop, and how often it runs."""
    for command in body:
        if isinstance(command, Repeat):
            assert isinstance(command.trips, int)
            yield from _places(command.body, times * command.trips)
        elif isinstance(command, Concurrent):
            yield from _places(command.body, times)
        elif isinstance(command, Launch | Move | Collective):
            yield command, times


def _moved(kind: Literal["fill", "copy"], size: int, count: int) -> Command:
    return Repeat(trips=count, body=(Move(kind=kind, bytes=size),))


def _counted(recording: Recording, group: Group, sites: Sites) -> tuple[Command, ...]:
    """The call's commands, each as often as it ran, in no place of the program."""
    items = ((_item(recording.events[number], sites), n) for number, n in group.counts.items())
    return tuple(Repeat(trips=n, body=(item,)) for item, n in items if item is not None)


def _item(event: Event, sites: Sites) -> Command | None:
    if event.what in MOVES:
        return Move(kind=MOVES[event.what], bytes=event.bytes)
    if event.what != "dispatch":
        return None
    constants = event.constants
    if constants is None:
        found = {site.constants for _, site in sites.get(event.kernel, ())}
        return Launch(
            kernel=event.kernel,
            constants=found.pop() if len(found) == 1 else (),
            trips=event.trips,
        )
    return Launch(kernel=event.kernel, constants=constants, trips=event.trips)
