"""Puts the probes of one kernel into its IR and writes down their plan while doing so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from iree.compiler import ir

from xpu_shark.passes.bridge.locations import source_location
from xpu_shark.passes.instrument.name_trips import trip_number
from xpu_shark.passes.instrument.plan import (
    NONE,
    Branch,
    Loop,
    Node,
    Stamp,
    Value,
    While,
)
from xpu_shark.passes.instrument.probe_ops import Prober
from xpu_shark.passes.instrument.read_loops import Control, followed
from xpu_shark.passes.instrument.reconstruct import trip_count

# Operations that an iteration must hold for its time to be taken. A stamp takes about 100 ns and an
# operation of a vector loop about 0.3 (bench_instrument on an AMD Zen 3): a third more at worst.
WORTH_A_STAMP: Final = 1000


@dataclass
class Placer:
    """Sites are taken on from `next_site`. `stamps`: take times; `every`: probe every loop."""

    control: Control
    prober: Prober
    workgroup: ir.Operation
    next_site: int
    stamps: bool
    every: bool
    operations: dict[int, int] = field(default_factory=dict)  # in a loop's body itself, by number

    def function(self, function: ir.Operation) -> tuple[Node, ...]:
        """Probes in the body of `function`, whose workgroup record is made at its top level."""
        block = function.regions[0].blocks[0]
        nodes: list[Node] = []
        early: list[ir.Value] = []
        reached = False
        for op in [view.operation for view in block.operations]:
            if not reached and op != self.workgroup:
                early += op.results
                continue
            if op == self.workgroup:
                reached = True
                place = ir.InsertionPoint.after(op)
                if self.stamps:
                    nodes.append(self._stamp(place, high=True))
                nodes += self._values(early, place)
                continue
            nodes += self._op(op, outermost=True)
        if self.stamps:
            end = ir.InsertionPoint.at_block_terminator(block)
            nodes.append(self._stamp(end, high=False))
        return tuple(nodes)

    def _block(self, block: ir.Block, *, outermost: bool) -> list[Node]:
        ops = [view.operation for view in block.operations]
        nodes = self._values(block.arguments, ir.InsertionPoint(ops[0]))
        for op in ops:
            nodes += self._op(op, outermost=outermost)
        return nodes

    def _op(self, op: ir.Operation, *, outermost: bool) -> list[Node]:
        nodes = self._control(op, outermost=outermost) if followed(self.control, op) else []
        if any(result in self.control.reader.sites for result in op.results):
            nodes += self._values(op.results, ir.InsertionPoint.after(op))
        return nodes

    def _control(self, op: ir.Operation, *, outermost: bool) -> list[Node]:
        blocks = [block for region in op.regions for block in region.blocks]
        values = self.control.values[op]
        if op.name == "scf.for":
            return [self._for(op, blocks[0], outermost)]
        if op.name == "scf.while":
            return [self._while(op, *blocks)]
        bodies = [tuple(self._block(block, outermost=outermost)) for block in blocks]
        then, otherwise = (*bodies, ())[:2]  # a forall has one
        return [Branch(values[0], then, otherwise, trip_number(op))]

    def _for(self, op: ir.Operation, body: ir.Block, outermost: bool) -> Loop:
        """What is put at the start of the body last comes first in it."""
        number = self.control.numbers[op]
        self.operations[number] = len(list(body.operations))
        inner = self._block(body, outermost=False)
        start = ir.InsertionPoint.at_block_begin(body)
        work = self.operations[number] + work_of(inner, self.operations)
        if self.stamps and outermost and work >= WORTH_A_STAMP:
            inner.insert(0, self._stamp(start, high=False, loop=number))
        site = self._site() if self.every else NONE
        if site != NONE:
            self.prober.value(site, body.arguments[0], start)
        lower, upper, step = self.control.values[op]
        location = source_location(op.location)
        trip = trip_number(op)
        return Loop(number, lower, upper, step, tuple(inner), site, location, trip)

    def _while(self, op: ir.Operation, before: ir.Block, body: ir.Block) -> While:
        number, (condition,) = self.control.numbers[op], self.control.values[op]
        first = tuple(self._block(before, outermost=False))
        inner = tuple(self._block(body, outermost=False))
        site = self._site() if self.every else NONE
        if site != NONE:
            self.prober.zero(site, ir.InsertionPoint.at_block_begin(body))
        location, trip = source_location(op.location), trip_number(op)
        return While(number, first, condition, inner, site, location, trip)

    def _values(self, values: Iterable[ir.Value], place: ir.InsertionPoint) -> list[Node]:
        """Probes at `place` of those `values` that need one."""
        nodes: list[Node] = []
        for value in values:
            site = self.control.reader.sites.get(value)
            if site is None:
                continue
            self.prober.value(site, value, place)
            nodes.append(Value(site, self.control.trips.get(site, 0)))
        return nodes

    def _stamp(self, place: ir.InsertionPoint, *, high: bool, loop: int = NONE) -> Stamp:
        low, upper = self._site(), self._site() if high else NONE
        self.prober.cycles(low, place, upper if high else None)
        return Stamp(low, upper, loop)

    def _site(self) -> int:
        self.next_site += 1
        return self.next_site - 1


def work_of(nodes: Iterable[Node], operations: Mapping[int, int]) -> int:
    """Operations in the loops of `nodes` that are sure to run; one trip of unknown bounds."""
    total = 0
    for node in nodes:
        if isinstance(node, Loop):
            trips = trip_count(node)
            once = operations[node.number] + work_of(node.body, operations)
            total += (1 if trips is None else trips) * once
    return total
