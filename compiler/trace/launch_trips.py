"""Trip counts of loops inside kernels, launch by launch, from the values of a probed run.

A workgroup runs once a launch. So the n-th record of a workgroup of an export, among launches of
as many workgroups, is of its n-th launch; that holds for launches that overlap, too, as long as
each of the overlapping ones of an export has the same trip counts.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from math import prod
from typing import Final

import numpy as np

from xpu_shark.compiler.trace.instrument_ring import Event, Ring
from xpu_shark.compiler.trace.model import Probe
from xpu_shark.passes.instrument.count_trips import Trips, count_trips, counted
from xpu_shark.passes.instrument.expression import PlanError
from xpu_shark.passes.instrument.plan import Plan
from xpu_shark.passes.instrument.reconstruct import WorkgroupRun

Grid = tuple[int, int, int]
_PLACE: Final = 6  # id x y z, count x y z


class LaunchTrips:
    """Takes the events of one ring in order; kept as columns, since there may be millions."""

    def __init__(self, plan: Plan, ring: Ring) -> None:
        self._ring = ring
        found = {each.name: counted(each) for each in plan.exports}
        self._plans = {name: part for name, part in found.items() if part is not None}
        self._names: list[str] = []  # export of each workgroup record
        self._places, self._keys = array("I"), array("Q")
        self._owners, self._sites, self._values = array("Q"), array("B"), array("I")

    def take(self, export: str, event: Event) -> None:
        if export not in self._plans:
            return
        if event.what == "workgroup":
            self._names.append(export)
            self._places.extend(event.place)
            self._keys.append(event.key)
        elif isinstance(event.amount, int) and event.what == "value":
            self._owners.append(event.key)
            self._sites.append(event.ordinal)
            self._values.append(event.amount & 0xFFFFFFFF)

    def probes(self) -> Iterator[Probe]:
        """A row for each export, grid of workgroups and trip count.

        Its values are turns and entries of the first launch, then of the next. Raises `TraceError`
        where the events are not those of the plan.
        """
        for (export, grid), launches in self._launches().items():
            # Those of which records were overwritten come first: they are not known.
            whole = [trips for _, trips in sorted(launches.items()) if trips.runs == prod(grid)]
            for number in sorted({number for trips in whole for number in trips.entries}):
                pairs = ((trips.turns[number], trips.entries[number]) for trips in whole)
                values = tuple(value for pair in pairs for value in pair)
                yield Probe(export=export, grid=grid, trip=number, values=values)

    def _launches(self) -> dict[tuple[str, Grid], dict[int, Trips]]:
        """Sums over the workgroups of a launch; launches are numbered back from the last, -1."""
        left = Counter((run.export, run.identity, run.count) for run in self._runs())
        found: dict[tuple[str, Grid], dict[int, Trips]] = defaultdict(lambda: defaultdict(Trips))
        for key, run in zip(self._keys, self._runs(), strict=True):
            where = (run.export, run.identity, run.count)
            try:
                trips = count_trips(self._plans[run.export], run)
            except PlanError as problem:
                place = key % self._ring.size
                raise self._ring.span.wrong(place, "values as planned", problem) from None
            found[run.export, run.count][-left[where]].update(trips)
            left[where] -= 1
        return found

    def _runs(self) -> Iterator[WorkgroupRun]:
        """Workgroups with their values, in the order of their records."""
        owners = np.frombuffer(self._owners, np.uint64)
        order = np.argsort(owners, kind="stable")
        ends = np.searchsorted(owners[order], np.frombuffer(self._keys, np.uint64), "right")
        first = 0
        for number, end in enumerate(ends.tolist()):
            x, y, z, *grid = self._places[_PLACE * number : _PLACE * (number + 1)]
            mine = order[first:end].tolist()
            values = tuple((self._sites[n], self._values[n]) for n in mine)
            first = end
            yield WorkgroupRun(self._names[number], (x, y, z), (grid[0], grid[1], grid[2]), values)
