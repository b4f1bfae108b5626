"""Gives each launch the trip counts that probes found in its kernel."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import zip_longest

import msgspec
import numpy as np

from xpu_shark.compiler.trace.model import SETUP, Loss, Trace

_Key = tuple[str, tuple[int, ...]]  # export, workgroups in x, y and z
_Trips = tuple[int, ...]  # as in `Kind`; empty where not known


def bind_trips(trace: Trace) -> Trace:
    """The trace with counts in the kinds of its launches; a loss says which have none.

    The n-th probed launch of an export with the same workgroups is the n-th recorded one. Probes
    are of the whole run, or of loading and one call that stands for every call. Where a ring
    overflowed, the last launches are known.
    """
    probed = _probed(trace)
    places = _places(trace)
    numbers = {kind: number for number, kind in enumerate(trace.kinds)}
    column = trace.launches.kind.astype(np.int64)
    losses = []
    for key in sorted(probed.keys() & places.keys()):
        rows = _rows(trace, places[key], probed[key])
        for at, trips in zip(places[key], rows, strict=True):
            kind = msgspec.structs.replace(trace.kinds[column[at]], trips=trips)
            column[at] = numbers.setdefault(kind, len(numbers))
        if lost := sum(not trips for trips in rows):
            why = f"probes saw {len(probed[key])} launches of {key[0]}"
            unit = "launches' trip counts"
            losses.append(Loss(cause="unmatched", unit=unit, lost=lost, total=len(rows), why=why))
    return replace(
        trace,
        kinds=tuple(numbers),
        launches=replace(trace.launches, kind=column),
        losses=(*trace.losses, *losses),
    )


def _probed(trace: Trace) -> dict[_Key, list[_Trips]]:
    """What is known of the launches of each export and grid, in their order."""
    columns: dict[_Key, list[list[_Trips]]] = defaultdict(list)
    for probe in trace.probes:
        if probe.trip:
            pairs = zip(probe.values[::2], probe.values[1::2], strict=True)
            column: list[_Trips] = [
                (probe.trip, int(turns), int(entries)) for turns, entries in pairs
            ]
            columns[probe.export, probe.grid].append(column)
    return {
        key: [sum(row, ()) for row in zip_longest(*found, fillvalue=())]
        for key, found in columns.items()
    }


def _places(trace: Trace) -> dict[_Key, list[int]]:
    """Numbers of the launches of each export and grid."""
    keys = [(kind.export, kind.workgroups) for kind in trace.kinds]
    found: dict[_Key, list[int]] = defaultdict(list)
    for at, number in enumerate(trace.launches.kind.tolist()):
        found[keys[number]].append(at)
    return found


def _rows(trace: Trace, places: list[int], found: list[_Trips]) -> list[_Trips]:
    """The counts of each of `places`, launches of one export and grid."""
    calls = [
        sum(each.first <= at < each.first + each.launches for at in places)
        for each in trace.iterations
        if each.function != SETUP
    ]
    setup = len(places) - sum(calls)
    once = setup + max(calls, default=0)
    if len(found) not in (once, len(places)) and any(x.cause == "overflow" for x in trace.losses):
        whole = once if len(found) < once else len(places)
        found = [()] * (whole - len(found)) + found
    if len(found) == len(places):
        return found
    if len(found) == once and len(set(calls)) == 1:
        return found[:setup] + found[setup:] * len(calls)
    return [()] * len(places)
