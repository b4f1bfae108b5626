"""`xpu-shark explain`: what a rule is about, or the evidence of one finding."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from xpu_shark.compiler import flags, pass_registry, stock
from xpu_shark.compiler.errors import UsageError
from xpu_shark.compiler.iree_flags import expand_response_files

if TYPE_CHECKING:
    from xpu_shark.passes.module_pass import Analysis
    from xpu_shark.simulator.result import Finding
    from xpu_shark.simulator.simulate import KernelRun


# Flags of ours that change what is found.
MATTER = tuple(
    f"--xpu-{name}" for name in ("target", "effort", "tiling", "per", "dim", "devices", "trace")
)


def main(argv: Sequence[str]) -> int:
    """A rule by name, or `ID` with the command line of the simulation that gave it."""
    from xpu_shark.passes.advise import fusion, host_moves
    from xpu_shark.passes.advise.across import ACROSS_RULES
    from xpu_shark.passes.advise.communication import NETWORK_RULES
    from xpu_shark.passes.advise.rules import RULES

    if not argv:
        raise UsageError("explain needs a RULE, or the ID of a finding and the compile it is of")
    name, *rest = expand_response_files(argv)
    texts = {rule.name: rule.explanation for rule in RULES}
    texts |= {rule.name: rule.explanation for rule in ACROSS_RULES}
    texts |= {rule.name: rule.explanation for rule in NETWORK_RULES}
    texts |= {module.NAME: module.__doc__ or "" for module in (fusion, host_moves)}
    if name in texts and not rest:
        print(texts[name].strip())
        return 0
    if ":" not in name:
        known = list(texts)
        near = difflib.get_close_matches(name, known, n=1)
        hint = f", did you mean {near[0]!r}?" if near else f" (known: {', '.join(known)})"
        raise UsageError(f"unknown rule {name!r}{hint}")
    return _evidence(name, rest)


def _evidence(identity: str, args: Sequence[str]) -> int:
    """Simulate again: the same input gives the same finding, so nothing needs to be stored."""
    from xpu_shark.compiler.pipeline import repeatable_stdin
    from xpu_shark.compiler.simulate_main import analyse

    ours, theirs = flags.split(args)
    options = flags.options(ours)
    pass_registry.check(options.passes)
    found: list[Finding] = []
    known: list[str] = []

    def look(shared: Analysis) -> None:
        found.extend(_matching(shared, identity))
        known.extend(each.id for each in (shared.report.findings if shared.report else ()))

    with repeatable_stdin(theirs):
        code = analyse(theirs, options, look)
    if code is None:
        stock.become(theirs)
    if code == 0 and not found:
        raise UsageError(_unknown(identity, known))
    for finding in found:
        _print(finding, sys.stdout)
    return code or 0


def _unknown(identity: str, known: Sequence[str]) -> str:
    """That a simulation has no such finding, what is like it there, and what may be different."""
    near = difflib.get_close_matches(identity, known, n=1, cutoff=0.8)
    hint = f"; did you mean {near[0]!r}?" if near else f" ({len(known)} findings in this one)"
    return (
        f"no finding {identity} in this simulation: give the input and the flags of the build that "
        f"printed it, {', '.join(MATTER)} and iree-compile's own{hint}"
    )


def _matching(shared: Analysis, identity: str) -> list[Finding]:
    findings = shared.report.findings if shared.report else ()
    return [finding for finding in findings if finding.id == identity]


def _print(finding: Finding, stream: TextIO) -> None:
    print(f"{finding.id} at {finding.location or 'an unknown place'}", file=stream)
    print(f"{finding.condition} -> {finding.suggestion}", file=stream)
    low, high = finding.speedup_low, finding.speedup_high
    print(
        f"{finding.speedup:.3f}x; {low:.3f} to {high:.3f} while constants move: {finding.state}",
        file=stream,
    )
    for title, runs in (("as it is", finding.before), ("as it could be", finding.after)):
        for number, run in enumerate(runs):
            launch = f", launch {number + 1} of {len(runs)}" if len(runs) > 1 else ""
            print(f"\n{title}{launch}", file=stream)
            for line in _run_lines(run):
                print(f"  {line}", file=stream)
    for title, plan in zip(("as it is", "as it could be"), finding.plans, strict=False):
        print(f"\n{title}", file=stream)
        for line in plan:
            print(f"  {line}", file=stream)


def _run_lines(run: KernelRun) -> Iterator[str]:
    from xpu_shark.passes.annotate import wording

    yield f"{run.what}: {wording.time(run.time_ps)}, {wording.ratio(run)} its bound"
    yield f"tile {' '.join(f'{name}={size}' for name, size in run.tiling.items())}"
    moved = ", ".join(f"{name} {size} B" for name, size in run.bytes.items())
    yield f"traffic {moved or 'none'}"
    yield f"{'stream':<14}{'busy':>10}  waits for"
    for stream in run.streams:
        stalls = sorted(stream.stalls_ps.items(), key=lambda item: (-item[1], item[0]))
        waits = ", ".join(f"{cause} {wording.time(value)}" for cause, value in stalls)
        yield f"{stream.name:<14}{wording.time(stream.busy_ps):>10}  {waits}"
