"""Trip counts of the workload, as a probed run had them.

What the simulator calls `<kernel>.trip` is the turns of one loop each time it is entered, how
often a branch runs its first arm, or a number that was read and used as a size. The plan says
which of its nodes is which.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Final, Self

import msgspec

from xpu_shark.passes.instrument.plan import (
    NONE,
    Branch,
    ExportPlan,
    Loop,
    Node,
    Stamp,
    Value,
    While,
)
from xpu_shark.passes.instrument.reconstruct import Cycles, Iteration, Walk, WorkgroupRun, inside

# Turns of one workgroup, of loops that have to be walked: a damaged bound must not take for ever.
MOST_TURNS: Final = 1 << 20


class Trips:
    """For each trip count by its number: `turns` (or the sum of a size) and `entries`, in `runs`
    workgroups."""

    def __init__(self, runs: int = 0) -> None:
        self.runs = runs
        self.turns: Counter[int] = Counter()
        self.entries: Counter[int] = Counter()

    def add(self, trip: int, turns: int) -> None:
        self.turns[trip] += turns
        self.entries[trip] += 1

    def update(self, other: Self) -> None:
        self.turns.update(other.turns)
        self.entries.update(other.entries)
        self.runs += other.runs


def counted(export: ExportPlan) -> ExportPlan | None:
    """The plan without loops and branches in which no value was reported or counted.

    None where the plan has no trip count of the workload.
    """
    if not any(map(_has_trip, export.body)):
        return None
    return msgspec.structs.replace(export, body=tuple(_needed(export.body)))


def count_trips(export: ExportPlan, run: WorkgroupRun) -> Trips:
    """What one workgroup's run did; `export` is a plan as `counted` makes it.

    Raises `PlanError` where the values do not fit the plan.
    """
    walk = _Count(0, run, export)
    deque(walk.all(), maxlen=0)
    return walk.trips


class _Count(Walk):
    """A walk that keeps no iterations, and skips those in which nothing is to be learnt."""

    def __init__(self, number: int, run: WorkgroupRun, export: ExportPlan) -> None:
        super().__init__(number, run, export)
        self.trips = Trips(runs=1)
        self._turned = 0

    def _node(self, node: Node) -> Iterator[Iteration | Cycles]:
        match node:
            case Value(site, trip):
                yield from super()._node(node)
                if trip:
                    self.trips.add(trip, self._known.probed[site])
            case Loop():
                turns = self._range(node)
                self._add(node, len(turns))
                yield from self._turns(node, turns if node.body or node.site != NONE else ())
            case While():
                turned = sum(
                    isinstance(each, Iteration) and each.loop == node.number
                    for each in super()._node(node)
                )
                self._add(node, turned)
            case Branch(condition):
                self._add(node, int(bool(self._value(condition))))
                yield from super()._node(node)
            case _:
                yield from super()._node(node)

    def _iteration(self, loop: Loop | While, value: int) -> Iteration:
        self._turned += 1
        if self._turned > MOST_TURNS:
            raise self._wrong(f"at most {MOST_TURNS} turns of loops with probes in them")
        return super()._iteration(loop, value)

    def _add(self, node: Loop | While | Branch, turns: int) -> None:
        if node.trip:
            self.trips.add(node.trip, turns)


def _has_trip(node: Node) -> bool:
    own = 0 if isinstance(node, Stamp) else node.trip
    return own > 0 or any(map(_has_trip, inside(node)))


def _needed(nodes: Iterable[Node]) -> Iterator[Node]:
    """`nodes` without what `counted` leaves out."""
    for node in nodes:
        match node:
            case Loop():
                body = tuple(_needed(node.body))
                if body or node.trip or node.site != NONE:
                    yield msgspec.structs.replace(node, body=body)
            case Branch():
                then, otherwise = tuple(_needed(node.then)), tuple(_needed(node.otherwise))
                if then or otherwise or node.trip:
                    yield msgspec.structs.replace(node, then=then, otherwise=otherwise)
            case _:
                yield node
