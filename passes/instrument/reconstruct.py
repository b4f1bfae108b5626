"""From the few events of a probed run to what every loop did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from xpu_shark.passes.instrument.expression import (
    Constant,
    Expression,
    Known,
    PlanError,
    evaluate,
    signed,
    unsigned,
)
from xpu_shark.passes.instrument.plan import (
    NONE,
    Branch,
    ExportPlan,
    Loop,
    Node,
    Plan,
    Stamp,
    Value,
    While,
)


@dataclass(frozen=True)
class WorkgroupRun:
    """One workgroup of one launch: its record, and what its value probes said, in order.

    `identity` and `count` are x, y, z; `values` are pairs of site and 32-bit value.
    """

    export: str
    identity: tuple[int, int, int]
    count: tuple[int, int, int]
    values: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Iteration:
    """One iteration of one loop. `run` counts workgroup runs from 0; `value` is the induction
    variable, 0 for a loop that has none."""

    run: int
    loop: int
    value: int


@dataclass(frozen=True)
class Cycles:
    """The cycle counter when an iteration of `loop` starts; NONE for a workgroup's start or end.

    64 bits at a workgroup's start, else the low 32: differences modulo 2**32 are durations.
    """

    run: int
    loop: int
    cycles: int


def reconstruct(plan: Plan, runs: Iterable[WorkgroupRun]) -> Iterator[Iteration]:
    """Every iteration of every loop of `runs`, in the order in which each workgroup ran them.

    Equals `recorded` of a run of the same program with a probe in every loop. Raises `PlanError`
    where the events are not those of the planned program.
    """
    return (each for each in replay(plan, runs) if isinstance(each, Iteration))


def replay(plan: Plan, runs: Iterable[WorkgroupRun]) -> Iterator[Iteration | Cycles]:
    """`reconstruct`, with the cycle stamps where they were taken."""
    exports = {export.name: export for export in plan.exports}
    for number, run in enumerate(runs):
        yield from Walk(number, run, _export(exports, run)).all()


def recorded(plan: Plan, runs: Iterable[WorkgroupRun]) -> Iterator[Iteration]:
    """The iterations that probes in loop bodies reported themselves; nothing is computed."""
    exports = {export.name: export for export in plan.exports}
    for number, run in enumerate(runs):
        loops = {each.site: each for each in loops_of(_export(exports, run).body)}
        for site, value in run.values:
            if site in loops:
                yield Iteration(number, loops[site].number, signed(value, 32))


def sizes(plan: Plan, run: WorkgroupRun) -> dict[int, int]:
    """The sizes that the launch of `run` was given, by ordinal. Raises `PlanError`."""
    export = _export({each.name: each for each in plan.exports}, run)
    known = Known(run.identity, run.count)
    for site, value in reversed(run.values):  # what was said first holds for the whole launch
        known.probed[site] = signed(value, 32)
    return {each.ordinal: evaluate(each.value, known) for each in export.sizes}


def trip_count(loop: Loop) -> int | None:
    """Iterations of one entry where the plan alone says it; None where that takes a run."""
    bounds = (loop.lower, loop.upper, loop.step)
    values = [each.value for each in bounds if isinstance(each, Constant)]
    return len(range(*values)) if len(values) == len(bounds) and values[2] > 0 else None


def loops_of(nodes: Iterable[Node]) -> Iterator[Loop | While]:
    """All loops under `nodes`, outer before inner."""
    for node in nodes:
        if isinstance(node, Loop | While):
            yield node
        yield from loops_of(inside(node))


def inside(node: Node) -> tuple[Node, ...]:
    """What `node` holds, in program order."""
    match node:
        case Loop():
            return node.body
        case While():
            return node.before + node.body
        case Branch():
            return node.then + node.otherwise
        case _:
            return ()


def _export(exports: Mapping[str, ExportPlan], run: WorkgroupRun) -> ExportPlan:
    if run.export not in exports:
        raise PlanError(f"export {run.export} is not in the probe plan: another module's run?")
    return exports[run.export]


class Walk:
    """One workgroup's walk through the tree of its export."""

    def __init__(self, number: int, run: WorkgroupRun, export: ExportPlan) -> None:
        self._number = number
        self._run = run
        self._export = export
        self._known = Known(run.identity, run.count)
        self._next = 0

    def all(self) -> Iterator[Iteration | Cycles]:
        yield from self._nodes(self._export.body)
        if self._next != len(self._run.values):
            raise self._wrong(f"no more values, found {self._found()}")

    def _nodes(self, nodes: Iterable[Node]) -> Iterator[Iteration | Cycles]:
        for node in nodes:
            yield from self._node(node)

    def _node(self, node: Node) -> Iterator[Iteration | Cycles]:
        match node:
            case Value(site):
                self._known.probed[site] = signed(self._take(site), 32)
            case Stamp():
                yield self._stamp(node)
            case Loop():
                yield from self._turns(node, self._range(node))
            case While():
                yield from self._while(node)
            case Branch(condition, then, otherwise):
                yield from self._nodes(then if self._value(condition) else otherwise)

    def _stamp(self, node: Stamp) -> Cycles:
        cycles = unsigned(self._take(node.site), 32)
        if node.high != NONE:
            cycles |= unsigned(self._take(node.high), 32) << 32
        return Cycles(self._number, node.loop, cycles)

    def _range(self, loop: Loop) -> range:
        lower, upper, step = map(self._value, (loop.lower, loop.upper, loop.step))
        if step <= 0:
            raise self._wrong(f"a step above 0 of loop {loop.number}, found {step}")
        return range(lower, upper, step)

    def _turns(self, loop: Loop, values: Iterable[int]) -> Iterator[Iteration | Cycles]:
        for value in values:
            self._known.inductions[loop.number] = value
            yield self._iteration(loop, value)
            yield from self._nodes(loop.body)

    def _while(self, loop: While) -> Iterator[Iteration | Cycles]:
        yield from self._nodes(loop.before)
        while self._value(loop.condition):
            yield self._iteration(loop, 0)
            yield from self._nodes(loop.body)
            yield from self._nodes(loop.before)

    def _iteration(self, loop: Loop | While, value: int) -> Iteration:
        if loop.site != NONE and (found := signed(self._take(loop.site), 32)) != value:
            raise self._wrong(f"iteration {value} of loop {loop.number}, found {found}")
        return Iteration(self._number, loop.number, value)

    def _value(self, expression: Expression) -> int:
        try:
            return evaluate(expression, self._known)
        except PlanError as problem:
            raise self._wrong(f"values that make sense, found {problem}") from None

    def _take(self, site: int) -> int:
        if self._next == len(self._run.values) or self._run.values[self._next][0] != site:
            raise self._wrong(f"a value of site {site}, found {self._found()}")
        self._next += 1
        return self._run.values[self._next - 1][1]

    def _found(self) -> str:
        if self._next == len(self._run.values):
            return "the end"
        return f"one of site {self._run.values[self._next][0]}"

    def _wrong(self, expected: str) -> PlanError:
        x, y, z = self._run.identity
        place = f"export {self._export.name}, workgroup {x},{y},{z}, value {self._next}"
        return PlanError(f"{place}: expected {expected}")
