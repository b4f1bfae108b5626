"""Proposes faster ways for devices to communicate, and proves them by a second simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

import msgspec

from xpu_shark.passes.advise.network_case import Change, NetworkCase
from xpu_shark.passes.advise.plan import Plan, Simulator
from xpu_shark.passes.advise.prove import MIN_GAIN, judged
from xpu_shark.passes.advise.rules import (
    collective_algorithm,
    combine_collectives,
    decompose_collective,
    gather_both,
    gather_slice,
    late_collective,
    overlap_collectives,
    reduce_slice,
    shard_dimension,
    split_collective,
    wire_type,
)
from xpu_shark.passes.annotate import wording
from xpu_shark.passes.annotate.report_limits import settings
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator.function_timeline import Run
from xpu_shark.simulator.result import Finding, Report

LEAST_SHARE = 0.01  # of the function's time: less is not worth a reader's line

_MODULES: tuple[ModuleType, ...] = (
    *(gather_slice, reduce_slice, combine_collectives, collective_algorithm, wire_type),
    *(gather_both, shard_dimension, split_collective, decompose_collective),
    *(late_collective, overlap_collectives),
)


@dataclass(frozen=True)
class NetworkRule:
    """One kind of advice about communication; `explanation` is the docstring of its file."""

    name: str
    category: str
    explanation: str
    propose: Callable[[NetworkCase], Iterator[Change]]


NETWORK_RULES: tuple[NetworkRule, ...] = tuple(
    NetworkRule(module.NAME, module.CATEGORY, module.__doc__ or "", module.propose)
    for module in _MODULES
)


def findings(report: Report, analysis: Analysis) -> list[Finding]:
    """What the rules find in each function, one for all changes that are alike."""
    simulator = Simulator(settings(analysis))
    found: dict[object, Finding] = {}
    for function in report.functions:
        for block in function.blocks:
            case = NetworkCase(function, block, simulator, analysis)
            for rule in NETWORK_RULES:
                for finding in _best(case, rule):
                    _add(found, finding)
    return list(found.values())


def _best(case: NetworkCase, rule: NetworkRule) -> Iterator[Finding]:
    """Of the changes to the same steps the one that ends first, where it gains."""
    best: dict[tuple[int, ...], tuple[int, Change]] = {}
    for change in rule.propose(case):
        time = case.simulator.run(change.after).time_ps
        if change.steps not in best or time < best[change.steps][0]:
            best[change.steps] = (time, change)
    for _, change in best.values():
        finding = _proved(case, rule, change)
        if finding is not None:
            yield finding


def _proved(case: NetworkCase, rule: NetworkRule, change: Change) -> Finding | None:
    simulator, function = case.simulator, case.function
    before, after = simulator.run(change.before), simulator.run(change.after)
    whole = len(change.before) > len(change.steps)  # with everything around
    hidden = 0 if whole else sum(case.hidden_ps(number) for number in change.steps)
    saved = (before.time_ps - after.time_ps - hidden) * case.block.times
    share = saved / (function.time_ps or 1)
    if before.time_ps < MIN_GAIN * max(after.time_ps, 1) or share < LEAST_SHARE:
        return None
    ratios = [("", before.time_ps / max(after.time_ps, 1))]
    moved = zip(simulator.moved(change.before), simulator.moved(change.after), strict=True)
    ratios += [(what, one / max(other, 1)) for (what, one), (_, other) in moved]
    proof = judged((), after.time_ps, ratios)
    steps = [case.steps[number] for number in change.steps]
    exposed = sum(before.exposed_ps) - hidden
    left = sum(after.exposed_ps)
    scope = " with all that runs around" if whole else ""
    return Finding(
        id=f"{rule.name}:{_identity(case, change)}",
        rule=rule.name,
        category=rule.category,
        function=function.name,
        dispatch=steps[0].label,
        others=tuple(step.label for step in steps[1:]),
        depends_on=proof.depends_on,
        location=steps[0].command.location,
        state=proof.state,
        condition=change.condition,
        measured=f"{wording.time(before.time_ps)}{scope}, {wording.time(exposed)} of it exposed",
        speedup=round(proof.speedup, 4),
        speedup_low=round(proof.low, 4),
        speedup_high=round(proof.high, 4),
        saved_ps=saved,
        share=round(share, 6),
        suggestion=f"{change.suggestion} (leaves {wording.time(left)} exposed)",
        confidence=change.confidence if proof.state == "active" else "low",
        before=(),
        after=(),
        what=change.what,
        plans=(_lines(change.before, before), _lines(change.after, after)),
    )


def _identity(case: NetworkCase, change: Change) -> str:
    """Function, kind and place of the first step: stable from run to run."""
    step = case.steps[change.steps[0]]
    kind = getattr(step.command, "kind", step.label)
    place = ":".join(step.command.location.rsplit(":", 2)[1:])
    return ".".join(filter(None, (case.function.name, kind, place)))


def _lines(plan: Plan, run: Run) -> tuple[str, ...]:
    """When each part runs, for people, in the order in which they begin."""
    parts = sorted(zip(run.begin_ps, range(len(plan)), run.end_ps, plan, strict=True))
    return tuple(
        f"{wording.time(begin)} to {wording.time(end)}: {part.work.label}"
        + (f" ({part.work.algorithm})" if part.work.algorithm else "")
        for begin, _, end, part in parts
    )


def _add(found: dict[object, Finding], finding: Finding) -> None:
    """Alike ones, such as those of equal layers, are one finding with all their savings."""
    times = [line.partition(": ")[0] for plan in finding.plans for line in plan]
    key = (finding.rule, finding.function, finding.what, tuple(times))
    first = found.get(key)
    if first is None:
        found[key] = finding
        return
    found[key] = msgspec.structs.replace(
        first,
        others=tuple(dict.fromkeys((*first.others, finding.dispatch, *finding.others))),
        saved_ps=first.saved_ps + finding.saved_ps,
        share=round(first.share + finding.share, 6),
    )
