"""The same program compiled with other flags, simulated, and compared: advice on fusion."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import msgspec

from xpu_shark.compiler.iree_flags import PHASES, CommandLine
from xpu_shark.compiler.workload_main import Program
from xpu_shark.passes.advise import fusion
from xpu_shark.passes.advise.case import bound
from xpu_shark.passes.advise.fusion import Group, Part
from xpu_shark.passes.advise.prove import MIN_GAIN, judged
from xpu_shark.passes.advise.ridge import past_ridge
from xpu_shark.passes.annotate import wording
from xpu_shark.passes.annotate.report_limits import settings
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator.evaluate import simulate
from xpu_shark.simulator.result import Dispatch, Finding
from xpu_shark.simulator.simulate import time_ps
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.variation import named_moves
from xpu_shark.simulator.workload import Workload

_CHILD = "xpu_shark.compiler.workload_main"


def findings(command: CommandLine, analysis: Analysis) -> list[Finding]:
    """One finding for each group of dispatches that a flag fuses and that gains by it."""
    base, workload = analysis.report, analysis.workload
    if base is None or workload is None or command.input == "-" or not _forms_dispatches(command):
        return []
    now = _compiled("sites", command, (), analysis.target)
    if now is None:
        return []
    found: dict[tuple[str, ...], Finding] = {}
    for flags in fusion.FLAGS:
        other = _compiled("workload", command, flags, analysis.target)
        if other is None or other.workload is None:
            continue
        report = simulate(other.workload, settings(analysis))
        for group in fusion.groups((base, now.sites), (report, other.sites)):
            finding = _finding(group, flags, (workload, other.workload), analysis)
            if finding is not None:
                found.setdefault(group.names, finding)
    return list(found.values())


def _forms_dispatches(command: CommandLine) -> bool:
    """Whether flags can still change which dispatches there are."""
    return PHASES.index(command.compile_from) < PHASES.index("dispatch-creation")


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


def _finding(
    group: Group, flags: Sequence[str], workloads: tuple[Workload, Workload], analysis: Analysis
) -> Finding | None:
    runs = [part.dispatch.run for part in group.before if part.dispatch.run]
    if all(past_ridge(run, analysis.target) for run in runs):
        return None
    sides = tuple(zip((group.before, group.after), workloads, strict=True))
    before, after_ps = (_time(*side, analysis) for side in sides)
    if before < MIN_GAIN * after_ps:
        return None
    ratios = [("", before / after_ps)]
    for what, target in named_moves(analysis.target):
        one, two = (_time(*side, analysis, target) for side in sides)
        ratios.append((what, one / max(two, 1)))
    assert analysis.report is not None
    function = next(f for f in analysis.report.functions if f.name == group.function)
    after = tuple(part.dispatch.run for part in group.after if part.dispatch.run)
    proof = judged(after, after_ps, ratios)
    saved = before - after_ps
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
        measured=f"{wording.time(before)} in all launches",
        speedup=round(proof.speedup, 4),
        speedup_low=round(proof.low, 4),
        speedup_high=round(proof.high, 4),
        saved_ps=saved,
        share=round(saved / (function.time_ps or 1), 6),
        suggestion=f"{' '.join(flags)} makes {group.sites[1]} of them",
        confidence="high",
        before=tuple(runs),
        after=proof.after,
    )


def _time(
    parts: Sequence[Part],
    workload: Workload,
    analysis: Analysis,
    target: Target | None = None,
) -> int:
    """All launches, as they were simulated or with the same tiles on another target."""

    def one(item: Dispatch) -> int:
        assert item.run is not None
        if target is None:
            return item.run.time_ps
        return time_ps(bound(item, workload, analysis), item.run.plan, target)

    return fusion.time_ps(parts, one)
