"""host_moves: the host program copies or fills memory between launches.

What it checks: what each copy and fill of the host program is for, by who touches the same bytes
before and after it. It simulates the launch beside it without it.
Why it matters: a copy of a few bytes takes as long as a launch, and the launch behind it waits. In
a loop over tokens such copies can take as long as the work.
Example: the state of a loop that is copied each turn ahead of the dispatch that reads it; a key
and value cache that is copied as a whole to change one row; zeros around an image.
What to do: as the remark says. What is only read needs no copy; several turns of a loop in one
(unrolled) copy its state once. One that each turn changes in part stays in place in a
`util.global`. A result is written where it is needed by the dispatch that
makes it. A value that the host decides by keeps it waiting: a counter or a fixed number of turns
does not. Padding is left to the loads of the dispatch that reads the array;
`--iree-dispatch-creation-enable-fuse-padding-into-linalg-consumer-ops` forms such dispatches, and a
simulation with it tells whether their tiles fit. Results stay bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xpu_shark.passes.advise.case import bound
from xpu_shark.passes.advise.prove import MIN_GAIN, judged
from xpu_shark.passes.advise.sequence import Sequence as Steps
from xpu_shark.passes.advise.sequence import Step, sequence
from xpu_shark.passes.advise.trials import WORTH_TRYING
from xpu_shark.passes.annotate import wording
from xpu_shark.passes.annotate.report_limits import settings
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator import commands
from xpu_shark.simulator.result import Command, Dispatch, Finding, Function, Report
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.touches import value
from xpu_shark.simulator.variation import named_moves, time_after
from xpu_shark.simulator.workload import Launch, Move

NAME = "host_moves"
CATEGORY = "xpu-shark.memory"


@dataclass(frozen=True)
class Reason:
    """What a move is for, and what would do instead. `partner` is the launch beside it, by number
    of step."""

    condition: str
    suggestion: str
    partner: int


@dataclass(frozen=True)
class Case:
    """One move, its record, its reason, and the dispatch that its partner was simulated as."""

    step: Step
    record: Command
    reason: Reason
    dispatch: Dispatch
    tensor: str = ""  # what its bytes are to its partner, where that is known

    @property
    def saved_ps(self) -> int:
        return self.step.turns * (self.record.time_ps or 0)


def findings(report: Report, analysis: Analysis) -> Iterator[Finding]:
    """One for all moves of a function that are there for the same reason, where they take at
    least the share of its time that is worth a try."""
    share = WORTH_TRYING[analysis.effort]
    for function in report.functions:
        records = {
            (command.kind, command.payload_bytes): command
            for command in report.commands
            if command.function == function.name and command.kind in ("copy", "fill")
        }
        least = share * (function.time_ps or 0)
        spent = sum(each.launches * (each.time_ps or 0) for each in records.values())
        if not function.time_ps or not spent or spent < least:
            continue
        dispatches = [d for d in report.dispatches if d.function == function.name and d.run]
        groups: dict[tuple[str, str], list[Case]] = {}
        for case in _cases(sequence(function.name, analysis), records, dispatches):
            key = (case.reason.condition, case.reason.suggestion)
            groups.setdefault(key, []).append(case)
        for cases in groups.values():
            if sum(case.saved_ps for case in cases) >= least:
                yield from _proved(cases, function, analysis)


def _cases(
    steps: Steps,
    records: dict[tuple[str, int | None], Command],
    dispatches: Sequence[Dispatch],
) -> Iterator[Case]:
    for number, step in enumerate(steps.steps):
        if not isinstance(step.command, Move) or step.command.kind == "transfer":
            continue
        record = records.get((step.command.kind, value(step.command.bytes, steps.env)))
        reason = reason_of(steps, number)
        if record is None or reason is None:
            continue
        partner = steps.steps[reason.partner].command
        assert isinstance(partner, Launch)
        named = [d for d in dispatches if d.name == partner.kernel]
        here = [d for d in named if partner.location in d.locations] or named
        if here:
            yield Case(step, record, reason, here[0], _tensor(steps, number, reason.partner))


def _tensor(steps: Steps, number: int, partner: int) -> str:
    """The tensor of the partner's kernel that is what the move reads or writes; empty for none."""
    command = steps.steps[partner].command
    assert isinstance(command, Launch)
    kernel = steps.kernels.get(command.kernel)
    for touch in steps.steps[partner].touches or ():
        same = [
            other for other in steps.steps[number].touches or () if touch.buffer == other.buffer
        ]
        if kernel is not None and any(touch.equals(other) for other in same):
            tensor = kernel.tensors[touch.tensor]
            if all(isinstance(size, int) for size in tensor.shape):
                return "x".join(map(str, (*tensor.shape, tensor.element)))
    return ""


def reason_of(steps: Steps, number: int) -> Reason | None:
    """What a copy or fill is for; None where nothing would do without it or nobody can tell."""
    step = steps.steps[number]
    uses = steps.uses(number)
    change = _change(steps, number)
    if change is not None and not uses.others and max(uses.readers, default=-1) < change:
        change = None  # what the move wrote has had its last reader: the place is used again
    if isinstance(step.command, Move) and step.command.kind == "fill":
        return None if uses.others else _fill(steps, uses.readers, change)
    if change is not None:
        given_up = _source(step, "transient") or _source(step, "carried")
        kept = not given_up or steps.read_later(number)
        return None if kept else _changed(_name(steps, change), change)
    if uses.readers and not uses.others:
        if steps.source_changes(number, uses.readers[-1]):
            return None
        looped = _source(step, "carried")
        return _read(_name(steps, uses.readers[0]), uses.readers[0], looped=looped)
    maker = _maker(steps, number)
    if maker is None or not uses.others or uses.readers:
        return None
    name = _name(steps, maker)
    if any(span.host for span in step.command.spans if span.access == "write"):
        return Reason(
            f"one that {name} makes, copied for the host to go by",
            "a value that the host knows itself (a counter, a fixed number of turns)",
            maker,
        )
    return Reason("a copy of it from another place", f"written there by {name} itself", maker)


def _source(step: Step, kind: str) -> bool:
    """Whether what the move reads is of that kind, a field of `Span`."""
    return any(getattr(span, kind) for span in step.command.spans if span.access == "read")


def _read(name: str, reader: int, *, looped: bool) -> Reason:
    turns = " (or several turns of the loop in one: one copy for all)" if looped else ""
    return Reason("a copy made for that", f"read in place by {name}{turns}", reader)


def _changed(name: str, change: int) -> Reason:
    return Reason(
        "a copy made for that",
        f"changed in place by {name} (a state in a util.global, not passed from turn to turn)",
        change,
    )


def _fill(steps: Steps, readers: Sequence[int], change: int | None) -> Reason | None:
    """Zeros around what somebody else writes, or a constant in memory."""
    others = [reader for reader in readers if reader != change]
    if not others:
        return None
    name = _name(steps, others[0])
    if change is None:
        return Reason("an array full of it", f"the constant in {name} itself", others[0])
    return Reason("an array filled first", "padding in the loads of what reads it", change)


def _change(steps: Steps, number: int) -> int | None:
    """The first launch of the block that changes a part of what the move writes."""
    target = [touch for touch in steps.steps[number].touches or () if touch.written]
    for later in range(number + 1, len(steps.steps)):
        step = steps.steps[later]
        meets = [t for t in step.touches or () if any(t.overlaps(other) for other in target)]
        if step.block != steps.steps[number].block or not any(t.written for t in meets):
            continue
        whole = all(t.written and t.exact and t.contains(other) for t in meets for other in target)
        return later if isinstance(step.command, Launch) and not whole else None
    return None


def _maker(steps: Steps, number: int) -> int | None:
    """The last command that writes what the move reads, if it is a launch of the same block."""
    source = [touch for touch in steps.steps[number].touches or () if not touch.written]
    for earlier in reversed(range(number)):
        step = steps.steps[earlier]
        if any(t.written and t.overlaps(other) for t in step.touches or () for other in source):
            mine = step.block == steps.steps[number].block and isinstance(step.command, Launch)
            return earlier if mine else None
    return None


def _name(steps: Steps, number: int) -> str:
    command = steps.steps[number].command
    assert isinstance(command, Launch)
    return command.kernel


def _proved(cases: Sequence[Case], function: Function, analysis: Analysis) -> Iterator[Finding]:
    """The finding, if it gains: the launch beside the longest move with and without that."""
    first = max(cases, key=lambda case: case.record.time_ps or 0)
    after, one = _alone_ps(first.dispatch), first.record.time_ps or 0
    if not after or one + after < MIN_GAIN * after:
        return
    ratios = [("", (one + after) / after)]
    for what, moved in named_moves(analysis.target):
        gone, left = _moved(first, analysis, moved)
        ratios.append((what, (gone + left) / max(left, 1)))
    proof = judged((), after, ratios)
    saved = sum(case.saved_ps for case in cases)
    count = sum(case.step.turns for case in cases)
    yield Finding(
        id=f"{NAME}:{function.name}.{_identity(first)}",
        rule=NAME,
        category=CATEGORY,
        function=function.name,
        dispatch=_sizes(cases),
        depends_on=proof.depends_on,
        location=first.step.command.location,
        state=proof.state,
        condition=f"{first.reason.condition}, {count} in a call",
        measured=f"{wording.time(saved)} in all, {wording.time(one + after)} "
        f"{'each' if len(_kinds(cases)) == 1 else 'the longest'} with the launch beside it",
        speedup=round(proof.speedup, 4),
        speedup_low=round(proof.low, 4),
        speedup_high=round(proof.high, 4),
        saved_ps=saved,
        share=round(saved / (function.time_ps or 1), 6),
        suggestion=first.reason.suggestion,
        confidence="high" if proof.state == "active" else "low",
        before=(),
        after=(),
        what=_sizes(cases) + (f" ({first.tensor})" if first.tensor else ""),
        plans=(tuple(_lines(cases)), tuple(_lines(cases, moves=False))),
    )


def _alone_ps(dispatch: Dispatch) -> int:
    assert dispatch.run is not None
    return dispatch.run.time_ps


def _moved(case: Case, analysis: Analysis, target: Target) -> tuple[int, int]:
    """Picoseconds of a move and of the launch beside it on another target."""
    assert isinstance(case.step.command, Move)
    run = case.dispatch.run
    assert run is not None
    there = replace(settings(analysis), target=target)
    gone = commands.simulate(case.step.command, case.record.payload_bytes, there).time_ps or 0
    launch = (bound(case.dispatch, analysis.simulated, analysis), run.plan)
    return gone, time_after(launch, (analysis.target, run.time_ps), target)


def _kinds(cases: Sequence[Case]) -> set[tuple[str, int | None, str]]:
    """What differs among moves and the launches beside them."""
    return {(c.record.kind, c.record.payload_bytes, c.dispatch.name) for c in cases}


def _size(case: Case) -> str:
    return f"{case.record.kind} of {case.record.payload_bytes} B"


def _sizes(cases: Sequence[Case]) -> str:
    sizes = sorted({case.record.payload_bytes or 0 for case in cases})
    if len(sizes) == 1:
        return _size(cases[0])
    plural = {"copy": "copies", "fill": "fills"}[cases[0].record.kind]
    return f"{plural} of {sizes[0]} to {sizes[-1]} B"


def _identity(case: Case) -> str:
    """Kind, size and place: stable from run to run."""
    place = ":".join(case.step.command.location.rsplit(":", 2)[1:])
    return ".".join(filter(None, (case.record.kind, str(case.record.payload_bytes), place)))


def _lines(cases: Sequence[Case], *, moves: bool = True) -> Iterator[str]:
    """What runs, one line for all that is alike."""
    found: dict[tuple[str, int], int] = {}
    for case in cases:
        pairs = [(_size(case), case.record.time_ps or 0)] if moves else []
        for key in (*pairs, (case.dispatch.name, _alone_ps(case.dispatch))):
            found[key] = found.get(key, 0) + case.step.turns
    for (what, time), count in found.items():
        yield f"{what}: {wording.time(time)}" + (f", {count} times" if count > 1 else "")
