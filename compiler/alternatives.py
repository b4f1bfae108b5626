"""The same program compiled with other flags, simulated, and compared: advice on fusion."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import msgspec

from xpu_shark.compiler.iree_flags import CommandLine
from xpu_shark.passes.advise import fusion
from xpu_shark.passes.advise.case import bound
from xpu_shark.passes.advise.fusion import Group
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
    if base is None or workload is None or command.input == "-":
        return []
    found: dict[tuple[str, ...], Finding] = {}
    for flags in fusion.FLAGS:
        other = _compiled(command, flags, analysis.target)
        if other is None:
            continue
        report = simulate(other, settings(analysis))
        for group in fusion.groups((base, workload), (report, other)):
            finding = _finding(group, flags, (workload, other), analysis)
            if finding is not None:
                found.setdefault(group.names, finding)
    return list(found.values())


def _compiled(command: CommandLine, flags: Sequence[str], target: Target) -> Workload | None:
    """The workload with `flags` in place of the same ones in the command line; None where that
    does not compile."""
    names = {_name(flag) for flag in flags}
    kept = [flag for flag in command.flags if _name(flag) not in names]
    backends = ",".join(target.iree.backends)
    phase = f"--compile-from={command.compile_from}"
    child = subprocess.run(
        [sys.executable, "-m", _CHILD, backends, command.input, *kept, *flags, phase],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return None if child.returncode else msgspec.msgpack.decode(child.stdout, type=Workload)


def _name(flag: str) -> str:
    return flag.lstrip("-").partition("=")[0]


def _finding(
    group: Group, flags: Sequence[str], workloads: tuple[Workload, Workload], analysis: Analysis
) -> Finding | None:
    runs = [item.run for item in group.before if item.run]
    if all(past_ridge(run, analysis.target) for run in runs):
        return None
    sides = (group.before, group.after)
    times = [_time(*pair, analysis) for pair in zip(sides, workloads, strict=True)]
    if not times[0] or not times[1] or times[0] < MIN_GAIN * times[1]:
        return None
    ratios = [("", times[0] / times[1])]
    for what, target in named_moves(analysis.target):
        one, two = (_time(*pair, analysis, target) for pair in zip(sides, workloads, strict=True))
        ratios.append((what, one / max(two, 1)))
    assert analysis.report is not None
    function = next(f for f in analysis.report.functions if f.name == group.function)
    after = tuple(d.run for d in group.after if d.run)
    proof = judged(after, times[1], ratios)
    saved = times[0] - times[1]
    first = group.before[0]
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
        condition=f"{len(group.before)} dispatches: {', '.join(group.names)}",
        measured=f"{wording.time(times[0])} in all launches",
        speedup=round(proof.speedup, 4),
        speedup_low=round(proof.low, 4),
        speedup_high=round(proof.high, 4),
        saved_ps=saved,
        share=round(saved / (function.time_ps or 1), 6),
        suggestion=f"{' '.join(flags)} makes {len(group.after)} of them",
        confidence="high",
        before=tuple(runs),
        after=proof.after,
    )


def _time(
    dispatches: Sequence[Dispatch],
    workload: Workload,
    analysis: Analysis,
    target: Target | None = None,
) -> int:
    """All launches, as they were simulated or with the same tiles on another target."""
    total = 0
    for item in dispatches:
        if item.run is not None:
            time = item.run.time_ps
            if target is not None:
                time = time_ps(bound(item, workload, analysis), item.run.plan, target)
            total += time * item.launches
    return total
