"""Proposes to do several launches as fewer ones, and proves it by simulating the fused kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

import msgspec

from xpu_shark.passes.advise.dataflow import Change, Dataflow, Step, dataflow
from xpu_shark.passes.advise.prove import MIN_GAIN, judged
from xpu_shark.passes.advise.ridge import past_ridge
from xpu_shark.passes.advise.rules import (
    gather_chain,
    launch,
    multi_use,
    oversized_transient,
    producer_fusion,
    short_dispatches,
    sibling_fusion,
    standalone_conversion,
)
from xpu_shark.passes.advise.sequence import sequence
from xpu_shark.passes.annotate import wording
from xpu_shark.passes.module_pass import Analysis, Effort
from xpu_shark.simulator import tiling as tilings
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.bounds import bounds
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.result import Dispatch, Finding, Function, Report
from xpu_shark.simulator.simulate import run_bound, time_ps
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.variation import named_moves, time_after

# How many kinds of groups of a function are simulated, where they could save most.
MOST_TRIED: dict[Effort, int | None] = {"low": 0, "default": 12, "high": None}


@dataclass(frozen=True)
class AcrossRule:
    """One kind of advice about several dispatches; `explanation` is the docstring of its file."""

    name: str
    category: str
    explanation: str
    propose: Callable[[Dataflow, Target], Iterator[Change]]


_MODULES: tuple[ModuleType, ...] = (
    *(standalone_conversion, sibling_fusion, multi_use, oversized_transient, gather_chain),
    *(producer_fusion, short_dispatches),
)
ACROSS_RULES: tuple[AcrossRule, ...] = tuple(
    AcrossRule(module.NAME, module.CATEGORY, module.__doc__ or "", module.propose)
    for module in _MODULES
)


def findings(report: Report, analysis: Analysis, least_share: float) -> list[Finding]:
    """What the rules find in each function that saves at least that share of its time."""
    found: list[Finding] = []
    for function in report.functions:
        own = [d for d in report.dispatches if d.function == function.name]
        if not function.time_ps:
            continue
        flow = dataflow(sequence(function.name, analysis).function, own, analysis)
        for rule in ACROSS_RULES:
            more = list(_Search(flow, function, analysis, least_share).of(rule))
            if function.exposed_ps is not None:
                more = [_beside_collectives(each) for each in more]
            found += [each for each in more if not any(_same(other, each) for other in found)]
    return found


def _beside_collectives(finding: Finding) -> Finding:
    """Launches apart may hide a collective that one launch would wait for, or that would wait for
    it: both sides are simulated without."""
    depends_on = (*finding.depends_on, "overlap with collectives")
    return msgspec.structs.replace(
        finding, state="indeterminate", confidence="low", depends_on=depends_on
    )


def _same(other: Finding, finding: Finding) -> bool:
    """Whether a rule ahead, which names the cause, gains as much on the same dispatches."""
    names = [(each.function, {each.dispatch, *each.others}) for each in (other, finding)]
    return names[0] == names[1] and finding.saved_ps < MIN_GAIN * other.saved_ps


def told_once(found: Sequence[Finding]) -> list[Finding]:
    """`found` without launches for dispatches that `producer_fusion` makes one: that saves the
    launch and more."""
    fused = [
        (each.function, {each.dispatch, *each.others}, each.saved_ps)
        for each in found
        if each.rule == producer_fusion.NAME
    ]
    return [
        each
        for each in found
        if each.rule != launch.NAME
        or not any(
            function == each.function
            and {each.dispatch, *each.others} <= names
            and each.saved_ps <= saved_ps
            for function, names, saved_ps in fused
        )
    ]


def uncovered(found: Sequence[Finding], compiled: Sequence[Finding]) -> list[Finding]:
    """`found` without those of rules of this file for which `compiled`, findings that a flag gives,
    has one about the same dispatches, or one that saves as much about more."""
    own = {rule.name for rule in ACROSS_RULES}
    return [
        finding
        for finding in found
        if finding.rule not in own or not any(_covers(other, finding) for other in compiled)
    ]


def _covers(other: Finding, finding: Finding) -> bool:
    wide, names = ({each.dispatch, *each.others} for each in (other, finding))
    if other.function != finding.function:
        return False
    return wide == names or (wide > names and finding.saved_ps < MIN_GAIN * other.saved_ps)


@dataclass(frozen=True)
class _Search:
    flow: Dataflow
    function: Function
    analysis: Analysis
    least_share: float

    def of(self, rule: AcrossRule) -> Iterator[Finding]:
        """Of the changes that could save most the best of those that touch the same steps. One
        stands for all to steps that are alike."""
        target = self.analysis.target
        alike: dict[object, list[Change]] = {}
        for change in rule.propose(self.flow, target):
            if not all(past_ridge(step.run, target) for step in self._steps(change)):
                which = tuple(id(step.dispatch) for step in self._steps(change))
                same = alike.setdefault((change.suggestion, change.after, which), [])
                if not _touched(same) & set(change.steps):
                    same.append(change)
        ranked = sorted(
            ((-self._most(same), number, same) for number, same in enumerate(alike.values())),
            key=lambda each: each[:2],
        )
        least = self.least_share * (self.function.time_ps or 0)
        proved: list[tuple[Finding, set[int]]] = []
        for most, _, same in ranked[: MOST_TRIED[self.analysis.effort]]:
            if -most < least:
                break
            finding = self._proved(rule, same)
            if finding is not None and finding.saved_ps >= least:
                proved.append((finding, _touched(same)))
        taken: set[int] = set()
        for finding, steps in sorted(proved, key=lambda each: -each[0].saved_ps):
            if not taken & steps:
                taken |= steps
                yield finding

    def _steps(self, change: Change) -> list[Step]:
        return [self.flow.steps[number] for number in change.steps]

    def _launches(self, same: Sequence[Change]) -> int:
        """How often it is done: sites of one dispatch are launched alike."""
        dispatch = self._steps(same[0])[0].dispatch
        assert dispatch is not None
        return len(same) * dispatch.launches // dispatch.sites

    def _most(self, same: Sequence[Change]) -> int:
        """What all could save: their time less the bounds of what would be instead."""
        before = sum(step.run.time_ps for step in self._steps(same[0]))
        after = (bounds(kernel, self.analysis.target).bound_ps for kernel in same[0].after)
        return (before - sum(after)) * self._launches(same)

    def _proved(self, rule: AcrossRule, same: Sequence[Change]) -> Finding | None:
        change, target, steps = same[0], self.analysis.target, self._steps(same[0])
        old = [_as_it_is(step, target) for step in steps]
        new = [(kernel, _tiled(kernel, steps, target)) for kernel in change.after]
        if not all(estimate(*launch, target).fits for launch in new):
            return None
        after = tuple(run_bound(*launch, target) for launch in new)
        before_ps = sum(time for _, time in old)
        after_ps = sum(run.time_ps for run in after)
        if before_ps < MIN_GAIN * after_ps:
            return None
        ratios = [("", before_ps / after_ps)]
        for what, moved in named_moves(target):
            one = sum(time_after(launch, (target, time), moved) for launch, time in old)
            pairs = zip(new, after, strict=True)
            other = sum(time_after(launch, (target, run.time_ps), moved) for launch, run in pairs)
            ratios.append((what, one / max(other, 1)))
        proof = judged(after, after_ps, ratios)
        saved = (before_ps - after_ps) * self._launches(same)
        names = list(dict.fromkeys(step.dispatch.name for step in steps if step.dispatch))
        dispatch = steps[0].dispatch
        assert dispatch is not None
        return Finding(
            id=f"{rule.name}:{self.function.name}.{'+'.join(names)}",
            rule=rule.name,
            category=rule.category,
            function=self.function.name,
            dispatch=dispatch.name,
            others=tuple(names[1:]),
            depends_on=proof.depends_on,
            location=steps[0].command.location or _place(dispatch),
            state=proof.state,
            condition=change.condition + (f", {len(same)} times" if len(same) > 1 else ""),
            measured=f"{wording.time(before_ps)} together",
            speedup=round(proof.speedup, 4),
            speedup_low=round(proof.low, 4),
            speedup_high=round(proof.high, 4),
            saved_ps=saved,
            share=round(saved / (self.function.time_ps or 1), 6),
            suggestion=change.suggestion,
            confidence=change.confidence if proof.state == "active" else "low",
            before=tuple(step.run for step in steps),
            after=proof.after,
        )


def _touched(changes: Sequence[Change]) -> set[int]:
    return {step for change in changes for step in change.steps}


def _place(dispatch: Dispatch) -> str:
    return dispatch.locations[0] if dispatch.locations else ""


def _as_it_is(step: Step, target: Target) -> tuple[tuple[BoundKernel, Tiling], int]:
    """The launch and its time. Where the IR has its tiles and the target's own compiler would do
    better, with those: what fusing gains must not come from other tiles."""
    assert step.kernel is not None
    run = step.run
    if run.plan.source == "ir":
        plan = tilings.own(step.kernel, target)
        time = time_ps(step.kernel, plan, target) if estimate(step.kernel, plan, target).fits else 0
        if 0 < time < run.time_ps:
            return (step.kernel, plan), time
    return (step.kernel, run.plan), run.time_ps


def _tiled(kernel: BoundKernel, steps: Sequence[Step], target: Target) -> Tiling:
    """The target's own tiles, or those of the first step where the axes are the same."""
    own = tilings.own(kernel, target)
    first = steps[0]
    assert first.kernel is not None
    if kernel.axes != first.kernel.axes or not estimate(kernel, first.run.plan, target).fits:
        return own
    return min((own, first.run.plan), key=lambda plan: time_ps(kernel, plan, target))
