"""Searches tilings: an estimate ranks, a bound prunes, the simulator decides.

From the tilings at hand the search goes from neighbour to neighbour (`lattice.py`), least estimate
first. The programs of those at the front give a bound (`busy.py`): how long some unit is busy at
least, or some buffers go round. They run in the order of their bounds, now and then the one where
bound and estimate together are least; of those with the same bound and estimate only one. One
whose bound is no less than the time of a tiling already simulated cannot win and is not run. The
last simulations go to neighbours of the best. A small space is run whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from heapq import heappop, heappush
from itertools import islice

import msgspec

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.busy import least_ps
from xpu_shark.simulator.estimate import Estimate, estimate
from xpu_shark.simulator.lattice import Lattice
from xpu_shark.simulator.lower import lower
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import KernelRun, run_bound
from xpu_shark.simulator.target import Target

BATCH = 4  # simulated between two looks at the best time
REFINED = 3  # one simulation in this many is kept for neighbours of the best
AT_BOUND = 1.01  # times the bound: what is this close is not searched for better
LOWERED = 8  # programs that are bounded for one that is run
BY_BOUND = 1  # of them in the order of bounds for one in the order of bound and estimate together
SMALL = 60  # tilings: a space of no more is simulated whole, but for what a bound rules out
RANKED = 22  # tilings estimated that fit, at least, for one that is run: a small space needs few


class Effort(msgspec.Struct, frozen=True):
    """At most `estimated` tilings are ranked, and `least` to `simulated` of them run."""

    estimated: int
    least: int
    simulated: int


QUICK = Effort(estimated=100, least=8, simulated=8)
THOROUGH = Effort(estimated=1200, least=3, simulated=48)


class Candidate(msgspec.Struct, frozen=True):
    """One simulated tiling."""

    tiling: Tiling
    run: KernelRun


def search(
    kernel: BoundKernel,
    target: Target,
    start: Tiling,
    extra: Sequence[Tiling] = (),
    *,
    executor: Executor | None = None,
    effort: Effort = THOROUGH,
    allowed: Callable[[Tiling], bool] = lambda _: True,
) -> list[Candidate]:
    """Simulated candidates, fastest first; `start` and `extra` are always among them.

    A tiling that overflows the innermost memory comes after all that do not. Of others only those
    are tried that are `allowed`. `executor` runs the
    simulations (a process pool, or a cluster's executor); without one they run here.
    Deterministic: batches are of a fixed size, so what is pruned does not depend on the number of
    workers or on who finishes first, and ties go to the candidate that was proposed first.
    """
    found = _Search(kernel, target, effort, executor, allowed)
    return found.run(dict.fromkeys([start, *extra]))


class _Search:
    def __init__(
        self,
        kernel: BoundKernel,
        target: Target,
        effort: Effort,
        executor: Executor | None,
        allowed: Callable[[Tiling], bool],
    ) -> None:
        self.kernel, self.target, self.effort, self.executor = kernel, target, effort, executor
        self.allowed = allowed
        self.lattice = Lattice(kernel, target)
        self.scores: dict[Tiling, Estimate] = {}
        self.tried: set[Tiling] = set()
        self.refined: set[Tiling] = set()
        self.found: list[Candidate] = []
        self.bounds: dict[Tiling, int] = {}
        self.left: list[Tiling] = []  # bounded and not run yet
        self.complete = False  # whether every tiling has been ranked

    def run(self, seeds: Iterable[Tiling]) -> list[Candidate]:
        seeds = list(seeds)
        self._simulate(seeds)
        best = min(self.found, key=self._rank).run
        if best.time_ps <= AT_BOUND * best.bounds.bound_ps:
            return sorted(self.found, key=self._rank)
        self.tried.update(self.lattice.canonical(seed) for seed in seeds if seed.plain)
        ranked = self._ranked(seeds)
        fitting = sum(score.fits for score in self.scores.values())
        if self.complete and fitting <= SMALL:
            self._simulate_all()
            return sorted(self.found, key=self._rank)
        most = min(self.effort.simulated, max(self.effort.least, fitting // RANKED))
        kept = most // REFINED
        self._try(islice(ranked, LOWERED * most), most - kept)
        for _ in range(kept):
            left = [each for each in self.found if each.tiling not in self.refined]
            if not left or len(self.found) >= most:
                break
            centre = min(left, key=self._rank).tiling
            self.refined.add(centre)
            self._try(self.lattice.neighbours(centre), most)
        self._run(self.left, most)
        return sorted(self.found, key=self._rank)

    def _ranked(self, seeds: list[Tiling]) -> Iterator[Tiling]:
        """Tilings that fit, reached from `seeds`, least estimate first. While nothing fits, the
        way goes to where less memory is needed. Of orders of the loops that the estimate cannot
        tell apart only the first: the others are neighbours."""
        queue: list[tuple[bool, int, int, Tiling]] = []
        self._reach(map(self.lattice.canonical, seeds), queue)
        while queue and len(self.scores) < self.effort.estimated:
            *_, tiling = heappop(queue)
            self._reach(self.lattice.neighbours(tiling), queue)
        self.complete = not queue
        ranked = sorted(self.scores.items(), key=lambda item: item[1].time_ps)
        alike: dict[object, Tiling] = {}
        for tiling, score in ranked:
            if score.fits and tiling not in self.tried and self.allowed(tiling):
                alike.setdefault((tiling.tile, score.time_ps), tiling)
        return iter(alike.values())

    def _reach(self, tilings: Iterable[Tiling], queue: list[tuple[bool, int, int, Tiling]]) -> None:
        for tiling in tilings:
            if tiling not in self.scores:
                score = self._score(tiling)
                key = score.time_ps if score.fits else score.used
                heappush(queue, (not score.fits, key, len(self.scores), tiling))

    def _simulate_all(self) -> None:
        """Every tiling that has been ranked and may win."""
        rest = [
            tiling
            for tiling, score in self.scores.items()
            if score.fits and tiling not in self.tried and self.allowed(tiling)
        ]
        self.bounds |= {t: least_ps(lower(self.kernel, t, self.target)) for t in rest}
        rest.sort(key=lambda tiling: self.bounds[tiling])
        self._run(rest, len(self.found) + len(rest))

    def _try(self, tilings: Iterable[Tiling], most: int) -> None:
        """Simulate the most promising of `tilings` until `most` have been simulated in all."""
        new = [t for t in dict.fromkeys(tilings) if t not in self.tried and self.allowed(t)]
        rest = [tiling for tiling in new if self._score(tiling).fits]
        self.tried.update(rest)
        bounds = {t: least_ps(lower(self.kernel, t, self.target)) for t in rest}
        self.bounds |= bounds
        self.left += self._run(self._mixed(bounds), most)

    def _run(self, tilings: list[Tiling], most: int) -> list[Tiling]:
        """Simulate `tilings` in their order, but for those that cannot win, until `most` have been
        simulated in all; the rest is returned."""
        rest = tilings
        while rest and len(self.found) < most:
            best = min(self.found, key=self._rank).run.time_ps
            rest = [tiling for tiling in rest if self.bounds[tiling] < best]
            size = min(BATCH, most - len(self.found))
            self._simulate(rest[:size])
            rest = rest[size:]
        return rest

    def _mixed(self, bounds: dict[Tiling, int]) -> list[Tiling]:
        """Tilings in the order of bounds, and of bound and estimate together, in turns."""
        alike: dict[tuple[int, int], Tiling] = {}
        for tiling, bound in bounds.items():
            alike.setdefault((bound, self._score(tiling).time_ps), tiling)
        by_bound, by_both = (
            iter([alike[pair] for pair in sorted(alike, key=key)])
            for key in (lambda pair: pair[0], sum)
        )
        found: dict[Tiling, None] = {}
        for first in by_bound:
            found[first] = None
            found.update(dict.fromkeys(islice(by_bound, BY_BOUND - 1)))
            found.update(dict.fromkeys(islice(by_both, 1)))
        return list(found)

    def _simulate(self, tilings: list[Tiling]) -> None:
        run_one = partial(run_bound, self.kernel, target=self.target)
        runs = (map if self.executor is None else self.executor.map)(run_one, tilings)
        self.found += [Candidate(t, run) for t, run in zip(tilings, runs, strict=True)]

    def _rank(self, candidate: Candidate) -> tuple[bool, int]:
        return not self._score(candidate.tiling).fits, candidate.run.time_ps

    def _score(self, tiling: Tiling) -> Estimate:
        if tiling not in self.scores:
            self.scores[tiling] = estimate(self.kernel, tiling, self.target)
        return self.scores[tiling]
