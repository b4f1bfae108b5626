"""Proposes faster ways to run the dispatches, and reports those that simulation proves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import msgspec
from iree.compiler import ir

from xpu_shark.passes.advise import across, host_moves
from xpu_shark.passes.advise.case import HYPOTHETICAL, Case, Proposal, bound
from xpu_shark.passes.advise.neighbours import Neighbours, neighbours
from xpu_shark.passes.advise.prove import MIN_GAIN, Proof, prove
from xpu_shark.passes.advise.rules import Rule
from xpu_shark.passes.advise.sequence import sequence
from xpu_shark.passes.advise.trials import LEAST_SHARE, Trial, trials
from xpu_shark.passes.annotate import wording
from xpu_shark.passes.annotate.report_limits import ReportLimits
from xpu_shark.passes.module_pass import Analysis, ModulePass
from xpu_shark.passes.remark import Kind, Remark
from xpu_shark.simulator.result import Dispatch, Finding, Function, Report


@dataclass(frozen=True)
class GiveAdvice(ModulePass):
    """Runs every rule on the dispatches that could give most, and proves what they propose."""

    name: ClassVar[str] = "xpu-give-advice"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        if analysis.report is None:
            ReportLimits().run(module, analysis)
        if analysis.effort == "low":
            return
        report = analysis.report
        assert report is not None
        findings = [
            finding
            for function in report.functions
            for finding in self._function(function, report, analysis)
        ]
        findings += across.findings(report, analysis, LEAST_SHARE)
        findings = across.told_once(findings)
        findings += host_moves.findings(report, analysis)
        if any(function.exposed_ps for function in report.functions):
            from xpu_shark.passes.advise import communication

            findings += communication.findings(report, analysis)
        if analysis.effort == "high":
            compiled = list(analysis.more_findings(analysis))
            findings = [*across.uncovered(findings, compiled), *compiled]
        findings.sort(key=lambda finding: (-finding.saved_ps, finding.id))
        analysis.report = msgspec.structs.replace(report, findings=tuple(apart(findings)))
        analysis.advised = True
        for remark in remarks(analysis.report):
            remark.emit(module.context)

    def _function(self, function: Function, report: Report, analysis: Analysis) -> list[Finding]:
        """What the rules find where they could save most."""
        dispatches = [d for d in report.dispatches if d.function == function.name]
        steps = sequence(function.name, analysis)
        idle = [d for d in dispatches if d.run is None and d.state == "modelled" and not d.missing]

        def case_of(dispatch: Dispatch) -> Case:
            return _case(dispatch, analysis, lambda: neighbours(steps, dispatch, idle))

        return [
            finding
            for case, proposed in trials(function, dispatches, analysis, case_of)
            for finding in _findings(case, proposed, function)
        ]


def _findings(case: Case, proposed: list[Trial], function: Function) -> list[Finding]:
    """What of the rules' proposals is proved: of those that only change tiles the fastest, the
    first where they hardly differ; what another machine would do where there is nothing else."""
    dispatch = case.dispatch
    least = int(LEAST_SHARE * (function.time_ps or 0)) // dispatch.launches
    retiled: dict[str, int] = {}  # the finding about tiles, and the time that it leads to
    found: dict[str, Finding] = {}
    for trial in proposed:
        rule = trial.rule
        for number, proposal in enumerate(trial.proposals):
            proof = prove(case, proposal, least)
            if proof is None:
                continue
            name = f"{rule.name}{number + 1 if number else ''}:{_identity(dispatch)}"
            finding = _finding(name, case, rule, proposal, proof, function)
            if proposal.only_retiles(case):
                if any(proof.after_ps * MIN_GAIN > time for time in retiled.values()):
                    continue
                for slower in retiled:
                    del found[slower]
                retiled = {finding.id: proof.after_ps}
            found[finding.id] = finding
    practical = [each for each in found.values() if each.confidence != HYPOTHETICAL]
    return practical or list(found.values())


def _case(dispatch: Dispatch, analysis: Analysis, near: Callable[[], Neighbours]) -> Case:
    assert dispatch.run is not None
    workload = analysis.simulated
    kernel = bound(dispatch, workload, analysis)
    thorough = analysis.effort == "high"
    results = analysis.results_per_call
    target, kernels = analysis.target, workload.kernels
    return Case(dispatch, kernel, dispatch.run, target, thorough, results, near, kernels)


def _finding(
    name: str, case: Case, rule: Rule, proposal: Proposal, proof: Proof, function: Function
) -> Finding:
    dispatch, run = case.dispatch, case.run
    saved = (run.time_ps - proof.after_ps) * dispatch.launches
    certain = proof.state == "active" or proposal.confidence == HYPOTHETICAL
    return Finding(
        id=name,
        rule=rule.name,
        category=rule.category,
        function=function.name,
        dispatch=dispatch.name,
        others=proposal.others,
        depends_on=proof.depends_on,
        location=dispatch.locations[0] if dispatch.locations else "",
        state=proof.state,
        condition=proposal.condition,
        measured=f"{wording.time(run.time_ps)}, {wording.wait(run)}",
        speedup=round(proof.speedup, 4),
        speedup_low=round(proof.low, 4),
        speedup_high=round(proof.high, 4),
        saved_ps=saved,
        share=round(saved / (function.time_ps or 1), 6),
        suggestion=proposal.suggestion,
        confidence=proposal.confidence if certain else "low",
        before=(run,),
        after=proof.after,
    )


def _identity(dispatch: Dispatch) -> str:
    values = [str(value) for value in dispatch.constants if value is not None]
    if dispatch.context.running and dispatch.context.held:
        inside = "-".join(map(str, dispatch.context.resident))
        values.append(f"held{dispatch.context.held}[{inside}]")
    return ".".join([dispatch.function, dispatch.name, *values])


def remarks(report: Report) -> Iterator[Remark]:
    """One Missed remark a finding, then for each function what all of it could save."""
    for finding in report.findings:
        yield _remark(finding, report.target)
    yield from (_total(*total, report.target) for total in totals(report))


def apart(findings: list[Finding]) -> Iterator[Finding]:
    """The findings with a number behind each name that an earlier one has: one place in the source
    may be several in the program, as a function called twice is."""
    seen: Counter[str] = Counter()
    for finding in findings:
        seen[finding.id] += 1
        number = seen[finding.id]
        name = finding.id if number == 1 else f"{finding.id}.{number}"
        yield msgspec.structs.replace(finding, id=name)


def totals(report: Report) -> Iterator[tuple[Function, list[Finding], str]]:
    """For each function that rules could look at what they found, and in words what it comes to."""
    for function in report.functions:
        found = [f for f in report.findings if f.function == function.name]
        dispatches = [d for d in report.dispatches if d.function == function.name]
        skipped = [d for d in dispatches if d.missing or d.state != "modelled"]
        if function.time_ps or skipped:
            text = wording.advice(function, found, budget(found), skipped, report.target)
            yield function, found, text


def _remark(finding: Finding, target: str) -> Remark:
    args = (
        ("Dispatch", finding.dispatch),
        ("Target", target),
        ("State", finding.state),
        ("Condition", finding.condition),
        ("Measured", finding.measured),
        ("Speedup", f"{finding.speedup:.4f}"),
        ("SpeedupLow", f"{finding.speedup_low:.4f}"),
        ("SpeedupHigh", f"{finding.speedup_high:.4f}"),
        ("SavedNs", f"{finding.saved_ps / 1000:.3f}"),
        ("Share", f"{finding.share:.6f}"),
        ("Suggestion", finding.suggestion),
        ("Confidence", finding.confidence),
        ("Evidence", finding.id),
    )
    return Remark(
        kind=Kind.ANALYSIS if finding.confidence == HYPOTHETICAL else Kind.MISSED,
        category=finding.category,
        name=finding.id,
        function=finding.function,
        location=finding.location,
        message=f"{wording.finding(finding, target)} (explain {finding.id})",
        args=args,
    )


def _total(function: Function, found: list[Finding], text: str, target: str) -> Remark:
    return Remark(
        kind=Kind.ANALYSIS,
        category="xpu-shark.summary",
        name=f"{function.name}.advice",
        function=function.name,
        location=function.location,
        message=text,
        args=(
            ("Target", target),
            ("Findings", str(len(found))),
            ("SavedNs", f"{budget(found) / 1000:.3f}"),
        ),
    )


def certain(finding: Finding) -> bool:
    """Whether it gains wherever the target's constants lie, on the target's own machine."""
    return finding.state == "active" and finding.confidence != HYPOTHETICAL


def budget(found: list[Finding]) -> int:
    """Time that all of it saves together. Changes to one dispatch compete: of those that touch
    it, the one that saves most counts, so no time is saved twice. What another machine would save
    is no saving."""
    taken: set[str] = set()
    total = 0
    for finding in sorted(found, key=lambda each: (-each.saved_ps, each.id)):
        touched = {finding.dispatch, *finding.others}
        if certain(finding) and not touched & taken:
            taken |= touched
            total += finding.saved_ps
    return total
