"""Joins what several files say of one run, on export names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from xpu_shark.compiler.trace.model import (
    UNKNOWN,
    Column,
    Export,
    Iteration,
    Kind,
    Launches,
    Loss,
    Trace,
)
from xpu_shark.compiler.trace.read_replay import UNPROFILED

_DISPATCH = re.compile(r"(.*?)(\$async)?_dispatch_\d+")
Key = tuple[int, str, tuple[int, int, int]]


def join(orders: Trace, times: Trace) -> Trace:
    """`orders` (a replay) with the times of `times` (a profile of the same run).

    The n-th launch of an export with the same workgroups on the same device is the same launch
    in both; what is left over on either side is said as a loss.
    """
    seen = defaultdict(list)
    for at, number in enumerate(times.launches.kind):
        seen[_key(times.kinds[number])].append(at)
    queues = {key: iter(places) for key, places in seen.items()}
    launches = orders.launches
    start, duration = launches.start_ns.copy(), launches.duration_ns.copy()
    matched = untimed = 0
    for at, number in enumerate(launches.kind):
        kind = orders.kinds[number]
        if kind.what != "dispatch" or duration[at] == UNPROFILED:
            continue
        place = next(queues.get(_key(kind), iter(())), None)
        if place is None:
            untimed += 1
            continue
        start[at], duration[at] = times.launches.start_ns[place], times.launches.duration_ns[place]
        matched += 1
    losses = [loss for loss in times.losses if loss.cause != "unrecorded"]
    losses += _unmatched(matched, untimed, len(times.launches))
    return replace(
        orders,
        launches=Launches(launches.kind, start, duration),
        exports=_exports([*orders.exports, *times.exports]),
        losses=(*orders.losses, *losses),
        sources=(*orders.sources, *times.sources),
    )


def _key(kind: Kind) -> Key:
    return kind.device, kind.export, kind.workgroups


def _unmatched(matched: int, untimed: int, timed: int) -> Iterable[Loss]:
    if untimed:
        why = "the profile has no launch of the same export and workgroups left"
        total = matched + untimed
        yield Loss(cause="unmatched", unit="launches' times", lost=untimed, total=total, why=why)
    if timed > matched:
        why = "the replay has no launch of the same export and workgroups left"
        lost = timed - matched
        yield Loss(cause="unmatched", unit="profiled launches", lost=lost, total=timed, why=why)


def append(traces: Sequence[Trace]) -> Trace:
    """Runs one after the other as one trace; probes and losses of all of them."""
    kinds: dict[Kind, int] = {}
    columns: list[list[Column]] = [[], [], []]
    iterations: list[Iteration] = []
    count = 0
    for trace in traces:
        numbers = [kinds.setdefault(kind, len(kinds)) for kind in trace.kinds]
        table = np.array(numbers, np.int64)
        launches = trace.launches
        columns[0].append(table[launches.kind] if numbers else launches.kind)
        columns[1].append(launches.start_ns)
        columns[2].append(launches.duration_ns)
        iterations += [
            Iteration(
                function=each.function,
                first=each.first + count,
                launches=each.launches,
                contended=each.contended,
            )
            for each in trace.iterations
        ]
        count += len(launches)
    return replace(
        _common(traces),
        kinds=tuple(kinds),
        launches=Launches(*(np.concatenate(column) for column in columns)),
        iterations=tuple(iterations),
    )


def _common(traces: Sequence[Trace]) -> Trace:
    """The tables and names; where runs differ in a name, the first that says one counts."""

    def first(values: Iterable[str]) -> str:
        return next((value for value in values if value), "")

    return Trace(
        exports=_exports([each for trace in traces for each in trace.exports]),
        probes=tuple(each for trace in traces for each in trace.probes),
        losses=tuple(each for trace in traces for each in trace.losses),
        device=first(trace.device for trace in traces),
        machine=first(trace.machine for trace in traces),
        target=first(trace.target for trace in traces),
        tool=first(trace.tool for trace in traces),
        sources=tuple(each for trace in traces for each in trace.sources),
        program=next((trace.program for trace in traces if trace.program), b""),
    )


def _exports(rows: Iterable[Export]) -> tuple[Export, ...]:
    """One row a name, the one that says most."""
    best: dict[str, Export] = {}
    for row in rows:
        old = best.setdefault(row.name, row)
        best[row.name] = Export(
            name=row.name,
            format=old.format or row.format,
            location=old.location or row.location,
        )
    return tuple(best.values())


def without_probes(trace: Trace, probed: Container[str]) -> Trace:
    """Launches of the `probed` exports with the arguments that the program gives them.

    IREE's instrumentation adds a constant and a binding behind those: probe site and ring.
    """
    numbers: dict[Kind, int] = {}
    table = [
        numbers.setdefault(_without_probe(kind) if kind.export in probed else kind, len(numbers))
        for kind in trace.kinds
    ]
    column = np.array(table, np.int64)[trace.launches.kind] if table else trace.launches.kind
    return replace(trace, kinds=tuple(numbers), launches=replace(trace.launches, kind=column))


def _without_probe(kind: Kind) -> Kind:
    return msgspec.structs.replace(kind, constants=kind.constants[:-1], bindings=kind.bindings[:-1])


def settle(trace: Trace) -> Trace:
    """Without the mark of launches outside the profile: they are just not timed."""
    duration = trace.launches.duration_ns
    known = np.where(duration == UNPROFILED, UNKNOWN, duration)
    launches = Launches(trace.launches.kind, trace.launches.start_ns, known)
    return replace(trace, launches=launches)


def named(trace: Trace, function: str = "") -> Trace:
    """Calls that the recorder gave no name are of `function`, or of the one its exports tell.

    IREE names an export after the function it came from: main$async_dispatch_0_matmul.
    """
    guesses = (_DISPATCH.match(kind.export) for kind in trace.kinds)
    name = function or next((match[1] for match in guesses if match), "")
    iterations = tuple(
        each if each.function else msgspec.structs.replace(each, function=name)
        for each in trace.iterations
    )
    return replace(trace, iterations=iterations)
