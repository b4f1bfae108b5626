"""The proof of a proposal: both sides simulated, on the target and on every moved target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.simulator.simulate import KernelRun, run_bound
from xpu_shark.simulator.variation import time_after

MIN_GAIN = 1.02  # a smaller gain is within what any two runs of one kernel differ by


@dataclass(frozen=True)
class Proof:
    """Speedup on the target as described, and its extremes over the uncertain constants.

    `after_ps` is what then takes the place of one launch of the dispatch; `depends_on` names the
    constants on which it depends whether there is a gain.
    """

    after: tuple[KernelRun, ...]
    after_ps: int
    speedup: float
    low: float
    high: float
    depends_on: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """`active` if it gains wherever the constants lie, `indeterminate` if not everywhere."""
        return "active" if self.low >= MIN_GAIN else "indeterminate"


def prove(case: Case, proposal: Proposal, least_ps: int = 0) -> Proof | None:
    """None where the proposal saves less than `least_ps` a launch on the target as described."""
    machine = proposal.machine(case.target)
    after = tuple(run_bound(*launch, machine) for launch in proposal.launches)
    after_ps = sum(run.time_ps for run in after) / proposal.stands_for
    speedup = case.run.time_ps / after_ps
    if speedup < max(MIN_GAIN, proposal.worth) or case.run.time_ps - after_ps < least_ps:
        return None
    ratios = [("", speedup)]
    for what, target, before_ps in case.moved:
        other = proposal.machine(target)
        times = (
            time_after(launch, (machine, run.time_ps), other)
            for launch, run in zip(proposal.launches, after, strict=True)
        )
        ratios.append((what, before_ps * proposal.stands_for / sum(times)))
    return judged(after, round(after_ps), ratios)


def judged(
    after: tuple[KernelRun, ...], after_ps: int, ratios: Sequence[tuple[str, float]]
) -> Proof:
    """The proof from speedups: the first as described, the others with what they name moved."""
    low, high = (pick(ratio for _, ratio in ratios) for pick in (min, max))
    depends_on = dict.fromkeys(what for what, ratio in ratios if ratio < MIN_GAIN)
    return Proof(after, after_ps, ratios[0][1], low, high, tuple(depends_on))
