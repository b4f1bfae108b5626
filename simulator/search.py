"""Searches tilings: an estimate ranks, a bound prunes, the simulator decides.

Candidates scale the target's default tile along each axis. The closed-form estimate puts them in
order; those at the front are lowered, and one whose program keeps some unit busy for as long as a
tiling already simulated takes in all cannot win and is not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import permutations, product

import msgspec

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.busy import least_ps
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.lower import lower
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import KernelRun, run_bound
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.granule import granules

MOST_AXES = 4  # axes scaled: those with the largest extents
MOST_ORDERS = 6
MOST_SIMULATED = 24
BATCH = 6  # simulated between two looks at the best time; divides MOST_SIMULATED


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
    tilings: Iterable[Tiling] | None = None,
    executor: Executor | None = None,
    most: int = MOST_SIMULATED,
) -> list[Candidate]:
    """Simulated candidates, fastest first; `start` and `extra` are always among them.

    `tilings` are the others to consider (default: `space`), of which at most `most` are
    simulated. `executor` runs the simulations (a
    process pool, or a cluster's executor); without one they run here. Deterministic: candidates
    are simulated in batches of a fixed size, so what is pruned does not depend on the number of
    workers or on who finishes first, and ties go to the candidate that was proposed first.
    """
    always = list(dict.fromkeys([start, *extra]))
    found = _simulate(kernel, target, always, executor)
    others = space(kernel, target, start) if tilings is None else tilings
    for batch in _batches(_ranked(kernel, target, always, others)[:most]):
        best = min(candidate.run.time_ps for candidate in found)
        promising = [t for t in batch if least_ps(lower(kernel, t, target)) < best]
        found += _simulate(kernel, target, promising, executor)
    return sorted(found, key=lambda candidate: candidate.run.time_ps)


def _ranked(
    kernel: BoundKernel, target: Target, always: list[Tiling], others: Iterable[Tiling]
) -> list[Tiling]:
    """Other tilings that fit, least estimate first."""
    rest = [tiling for tiling in dict.fromkeys(others) if tiling not in always]
    scored = [(estimate(kernel, tiling, target), tiling) for tiling in rest]
    fitting = [(score.time_ps, tiling) for score, tiling in scored if score.fits]
    fitting.sort(key=lambda pair: pair[0])
    return [tiling for _, tiling in fitting]


def _simulate(
    kernel: BoundKernel, target: Target, tilings: list[Tiling], executor: Executor | None
) -> list[Candidate]:
    run_one = partial(run_bound, kernel, target=target)
    runs = map(run_one, tilings) if executor is None else executor.map(run_one, tilings)
    return [Candidate(tiling, run) for tiling, run in zip(tilings, runs, strict=True)]


def _batches(tilings: list[Tiling]) -> Iterator[list[Tiling]]:
    for first in range(0, len(tilings), BATCH):
        yield tilings[first : first + BATCH]


def space(
    kernel: BoundKernel, target: Target, start: Tiling, most_axes: int = MOST_AXES
) -> Iterator[Tiling]:
    """Tilings around `start`: each of the largest axes a half, once, twice or whole, in every
    order of the loops (up to three)."""
    steps = granules(kernel, target)
    extents = [max(axis.extent, 1) for axis in kernel.axes]
    axes = sorted(range(len(extents)), key=lambda axis: (-extents[axis], axis))[:most_axes]
    choices = [_sizes(start.tile[axis], extents[axis], steps[axis]) for axis in axes]
    for sizes in product(*choices):
        tile = list(start.tile)
        for axis, size in zip(axes, sizes, strict=True):
            tile[axis] = size
        looped = [axis for axis in start.order if tile[axis] < extents[axis]]
        orders = permutations(looped) if 2 <= len(looped) <= 3 else [tuple(looped)]
        for order in list(orders)[:MOST_ORDERS]:
            rest = tuple(axis for axis in start.order if axis not in order)
            yield Tiling(tuple(tile), (*order, *rest), "best")


def _sizes(tile: int, extent: int, step: int) -> list[int]:
    scaled = (max(step, tile // 2), tile, 2 * tile, extent)
    return sorted({max(1, min(extent, size)) for size in scaled})
