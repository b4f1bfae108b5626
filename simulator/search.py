"""Searches tilings: a closed-form bound prunes, the simulator decides.

Candidates scale the target's default tile along each axis. A candidate's bound is the least that
its traffic and its tiles' work allow, so one whose bound is no better than a time already
simulated cannot win and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product

import msgspec

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import KernelRun, run_bound
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.granule import granules

MOST_AXES = 4  # axes scaled: those with the largest extents
MOST_ORDERS = 6
MOST_SIMULATED = 24


class Candidate(msgspec.Struct, frozen=True):
    """One simulated tiling."""

    tiling: Tiling
    run: KernelRun


def search(
    kernel: BoundKernel, target: Target, start: Tiling, extra: Sequence[Tiling] = ()
) -> list[Candidate]:
    """Simulated candidates, fastest first; `start` and `extra` are always among them.

    Deterministic: ties go to the candidate that was proposed first.
    """
    proposed = list(dict.fromkeys([start, *extra, *space(kernel, target, start)]))
    scored = [(estimate(kernel, tiling, target), tiling) for tiling in proposed]
    kept = len(extra) + 1
    rest = [(score, tiling) for score, tiling in scored[kept:] if score.fits]
    rest.sort(key=lambda pair: pair[0].time_ps)
    found = [Candidate(tiling, run_bound(kernel, tiling, target)) for tiling in proposed[:kept]]
    best = min(candidate.run.time_ps for candidate in found)
    for score, tiling in rest[:MOST_SIMULATED]:
        if score.bound_ps < best:
            found.append(Candidate(tiling, run_bound(kernel, tiling, target)))
            best = min(best, found[-1].run.time_ps)
    return sorted(found, key=lambda candidate: candidate.run.time_ps)


def space(kernel: BoundKernel, target: Target, start: Tiling) -> Iterator[Tiling]:
    """Tilings around `start`: each of the largest axes a half, once, twice or whole, in every
    order of the loops (up to three)."""
    steps = granules(kernel, target)
    extents = [max(axis.extent, 1) for axis in kernel.axes]
    axes = sorted(range(len(extents)), key=lambda axis: (-extents[axis], axis))[:MOST_AXES]
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
