"""The proof of a proposal: both sides simulated, on the target and on every moved target."""

from __future__ import annotations

from dataclasses import dataclass

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.simulator.simulate import KernelRun, run_bound, time_ps
from xpu_shark.simulator.target import Target

MIN_GAIN = 1.02  # a smaller gain is within what any two runs of one kernel differ by


@dataclass(frozen=True)
class Proof:
    """Speedup on the target as described, and its extremes over the uncertain constants."""

    after: tuple[KernelRun, ...]
    speedup: float
    low: float
    high: float

    @property
    def state(self) -> str:
        """`active` if it gains wherever the constants lie, `indeterminate` if not everywhere."""
        return "active" if self.low >= MIN_GAIN else "indeterminate"


def prove(case: Case, proposal: Proposal, least_ps: int = 0) -> Proof | None:
    """None where the proposal saves less than `least_ps` a launch on the target as described."""
    after = _runs(proposal, case.target)
    speedup = case.run.time_ps / _time(after)
    if speedup < MIN_GAIN or case.run.time_ps - _time(after) < least_ps:
        return None
    ratios = [speedup]
    for target, before in case.moved:
        after_ps = sum(time_ps(*launch, target) for launch in proposal.launches)
        ratios.append(before / after_ps)
    return Proof(after, speedup, min(ratios), max(ratios))


def _runs(proposal: Proposal, target: Target) -> tuple[KernelRun, ...]:
    return tuple(run_bound(kernel, tiling, target) for kernel, tiling in proposal.launches)


def _time(runs: tuple[KernelRun, ...]) -> int:
    return sum(run.time_ps for run in runs)
