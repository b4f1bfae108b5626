"""The same program compiled with other flags, simulated, and compared: advice on fusion."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from xpu_shark.compiler.iree_flags import PHASES, CommandLine
from xpu_shark.compiler.workload_main import Program
from xpu_shark.passes.advise import fusion
from xpu_shark.passes.advise.case import bound
from xpu_shark.passes.advise.fusion import Group, Part
from xpu_shark.passes.advise.prove import MIN_GAIN, judged
from xpu_shark.passes.advise.ridge import past_ridge
from xpu_shark.passes.advise.trials import LEAST_SHARE
from xpu_shark.passes.annotate import wording
from xpu_shark.passes.annotate.report_limits import settings
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator.evaluate import simulate
from xpu_shark.simulator.result import Dispatch, Finding, Report
from xpu_shark.simulator.simulate import time_ps
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.variation import named_moves
from xpu_shark.simulator.workload import Workload

_CHILD = "xpu_shark.compiler.workload_main"
_DEFAULTS = {"iree-dispatch-creation-fuse-multi-use": "true"}  # of IREE 3.13


def findings(command: CommandLine, analysis: Analysis) -> list[Finding]:
    """One finding for each group of dispatches that a flag fuses and that gains by it."""
    base, workload = analysis.report, analysis.workload
    if base is None or workload is None or command.input == "-" or not _forms_dispatches(command):
        return []
    now = _compiled("sites", command, (), analysis.target)
    if now is None:
        return []
    found: list[Finding] = []
    for flags in fusion.FLAGS:
        if not may_change(flags, command):
            continue
        other = _compiled("workload", command, flags, analysis.target)
        if other is None or other.workload is None:
            continue
        report = simulate(other.workload, settings(analysis))
        groups = fusion.groups((base, now.sites), (report, other.sites))
        for group in _gaining(groups, analysis):
            whole = whole_gain(group.function, base, report)
            if whole >= 1 + LEAST_SHARE and not any(_covers(finding, group) for finding in found):
                change = Flagged(group, flags, whole)
                found.append(_finding(change, (workload, other.workload), analysis))
    return found


@dataclass(frozen=True)
class Flagged:
    """A group, the flags that make it, and how much faster all of its function is with them: a flag
    cannot be had for one group alone."""

    group: Group
    flags: tuple[str, ...]
    whole: float


def whole_gain(function: str, base: Report, other: Report) -> float:
    """The function's time over that with other flags; 0 where one of them is not known."""
    times = [f.time_ps for report in (base, other) for f in report.functions if f.name == function]
    before, after = times if len(times) == 2 else (None, None)
    return before / after if before and after else 0.0


def _covers(finding: Finding, group: Group) -> bool:
    """Whether a milder flag saves as much on the same dispatches."""
    names = {finding.dispatch, *finding.others}
    return names >= set(group.names) and finding.saved_ps >= group.saved_ps


def _gaining(groups: Iterable[Group], analysis: Analysis) -> list[Group]:
    """Those that gain. What saves too little of a function alone is one group with all of these:
    a flag makes them together."""
    large: list[Group] = []
    small: dict[str, Group] = {}
    for group in groups:
        if _past_ridge(group, analysis.target) or group.speedup < MIN_GAIN:
            continue
        if _share(group, analysis) >= LEAST_SHARE:
            large.append(group)
        else:
            rest = small.get(group.function)
            small[group.function] = fusion.both(rest, group) if rest else group
    return [*large, *(g for g in small.values() if _share(g, analysis) >= LEAST_SHARE)]


def _past_ridge(group: Group, target: Target) -> bool:
    runs = (part.dispatch.run for part in group.before)
    return all(past_ridge(run, target) for run in runs if run)


def _share(group: Group, analysis: Analysis) -> float:
    """What a group saves of its function's time."""
    assert analysis.report is not None
    function = next(f for f in analysis.report.functions if f.name == group.function)
    return group.saved_ps / function.time_ps if function.time_ps else 0.0


def _forms_dispatches(command: CommandLine) -> bool:
    """Whether flags can still change which dispatches there are."""
    return PHASES.index(command.compile_from) < PHASES.index("dispatch-creation")


def may_change(flags: Sequence[str], command: CommandLine) -> bool:
    """Whether a flag differs from what the command line and IREE's defaults say already."""
    given = {_name(flag): flag.partition("=")[2] or "true" for flag in command.flags}
    return any(
        (flag.partition("=")[2] or "true") != given.get(_name(flag), _DEFAULTS.get(_name(flag)))
        for flag in flags
    )


def _compiled(
    what: str, command: CommandLine, flags: Sequence[str], target: Target
) -> Program | None:
    """The program with `flags` in place of the same ones in the command line; None where that
    does not compile."""
    names = {_name(flag) for flag in flags}
    kept = [flag for flag in command.flags if _name(flag) not in names]
    backends = ",".join(target.iree.backends)
    phase = f"--compile-from={command.compile_from}"
    child = subprocess.run(
        [sys.executable, "-m", _CHILD, what, backends, command.input, *kept, *flags, phase],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return None if child.returncode else msgspec.msgpack.decode(child.stdout, type=Program)


def _name(flag: str) -> str:
    return flag.lstrip("-").partition("=")[0]


def _finding(change: Flagged, workloads: tuple[Workload, Workload], analysis: Analysis) -> Finding:
    group = change.group
    sides = tuple(zip((group.before, group.after), workloads, strict=True))
    ratios = [("", group.speedup)]
    for what, target in named_moves(analysis.target):
        one, two = (_time(*side, analysis, target) for side in sides)
        ratios.append((what, one / max(two, 1)))
    before, after = (
        tuple(part.dispatch.run for part in side if part.dispatch.run)
        for side in (group.before, group.after)
    )
    proof = judged(after, group.after_ps, ratios)
    first = group.before[0].dispatch
    return Finding(
        id=f"{fusion.NAME}:{group.function}.{'+'.join(group.names)}",
        rule=fusion.NAME,
        category=fusion.CATEGORY,
        function=group.function,
        dispatch=first.name,
        others=group.names[1:],
        location=first.locations[0] if first.locations else "",
        state=proof.state,
        depends_on=proof.depends_on,
        condition=fusion.describe(group),
        measured=f"{wording.time(group.before_ps)} in all launches",
        speedup=round(proof.speedup, 4),
        speedup_low=round(proof.low, 4),
        speedup_high=round(proof.high, 4),
        saved_ps=group.saved_ps,
        share=round(_share(group, analysis), 6),
        suggestion=f"{' '.join(change.flags)} makes {group.sites[1]} of them ({group.function} as "
        f"a whole {change.whole:.2f}x)",
        confidence="high",
        before=before,
        after=proof.after,
    )


def _time(parts: Sequence[Part], workload: Workload, analysis: Analysis, target: Target) -> int:
    """All launches with the same tiles on another target."""

    def one(item: Dispatch) -> int:
        assert item.run is not None
        return time_ps(bound(item, workload, analysis), item.run.plan, target)

    return fusion.time_ps(parts, one)
