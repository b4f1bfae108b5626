"""The tiling search against trying everything.

    python benchmarks/bench_search.py [--targets=tpu_v6e,...] [--kernels=matmul_1024,...|others]

For each kernel and target every tiling is tried: all sizes of the lattice that the search walks
(`simulator/lattice.py`: multiples of the units' steps and equal pieces, along every axis) times all
orders of the loops, as far as they fit the innermost memory. The program of each gives a bound on
its time (`simulator/busy.py`); they run in the order of their bounds until the next one is no less
than the best time so far, so no tiling that is not run can be faster. Printed are
the time of the best tiling found by the search over that of the best there is, the simulations
of the search, and their share of the tilings tried. Ends with 1 if one of the two misses its bar.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from time import process_time

from search_kernels import KERNELS, OTHERS, TWELVE

from xpu_shark.simulator import tiling as tilings
from xpu_shark.simulator.bind import BoundKernel, bind
from xpu_shark.simulator.busy import least_ps
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.lattice import Lattice
from xpu_shark.simulator.lower import lower
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.search import search
from xpu_shark.simulator.simulate import time_ps
from xpu_shark.simulator.target import Target, load

MOST_OVER = 1.03  # time of the tiling found over that of the best there is
MOST_SHARE = 0.05  # simulations of the search over tilings tried
TARGETS = ("tpu_v6e", "mi300x", "xdna2")


@dataclass(frozen=True)
class Outcome:
    """`best`, in `best_ps`, is the fastest of all `tried` tilings; the search found `found`, in
    `found_ps`, with `simulated` runs."""

    best: Tiling
    best_ps: int
    found: Tiling
    found_ps: int
    tried: int
    simulated: int

    @property
    def over(self) -> float:
        return self.found_ps / self.best_ps

    @property
    def share(self) -> float:
        return self.simulated / self.tried


def compare(kernel: BoundKernel, target: Target) -> Outcome:
    """The search, then all tilings."""
    start = tilings.choose(kernel, target, "default")
    found = search(kernel, target, start)
    best, best_ps = found[0].tiling, found[0].run.time_ps
    tried, left = 0, []
    for tiling in _every(kernel, target, start):
        if estimate(kernel, tiling, target).fits:
            tried += 1
            bound_ps = least_ps(lower(kernel, tiling, target))
            if bound_ps < best_ps:
                left.append((bound_ps, tiling.tile, tiling.order, tiling))
    for bound_ps, *_, tiling in sorted(left, key=lambda each: each[:3]):
        if bound_ps >= best_ps:
            break
        if (took_ps := time_ps(kernel, tiling, target)) < best_ps:
            best, best_ps = tiling, took_ps
    return Outcome(best, best_ps, found[0].tiling, found[0].run.time_ps, tried, len(found))


def _every(kernel: BoundKernel, target: Target, start: Tiling) -> Iterator[Tiling]:
    """All tilings of the lattice."""
    lattice = Lattice(kernel, target)
    seen: set[Tiling] = set()
    for tile in product(*lattice.sizes):
        for order in _orders(kernel, start, tile):
            tiling = lattice.canonical(Tiling(tile, order))
            if tiling not in seen:
                seen.add(tiling)
                yield tiling


def _orders(kernel: BoundKernel, start: Tiling, tile: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every order of the loops over parallel axes that turn more than once."""
    looped = [axis for axis in start.order if tile[axis] < kernel.axes[axis].extent]
    rest = tuple(axis for axis in start.order if axis not in looped)
    for order in permutations(looped):
        yield (*order, *rest)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--kernels", default="twelve")
    parser.add_argument("--tiles", action="store_true", help="print the two tilings as well")
    args = parser.parse_args()
    groups = {"twelve": ",".join(TWELVE), "others": ",".join(OTHERS), "all": ",".join(KERNELS)}
    print(f"{'kernel':<24}{'target':<10}{'found us':>12}{'over best':>10}{'runs':>6}", end="")
    print(f"{'of':>8}{'share':>8}{'CPU s':>8}")
    missed = 0
    for name in groups.get(args.kernels, args.kernels).split(","):
        for target in args.targets.split(","):
            start = process_time()
            outcome = compare(bind(KERNELS[name](), {}), load(target))
            missed += outcome.over > MOST_OVER or outcome.share > MOST_SHARE
            print(
                f"{name:<24}{target:<10}{outcome.found_ps / 1e6:>12.2f}{outcome.over:>10.3f}",
                end="",
            )
            print(f"{outcome.simulated:>6}{outcome.tried:>8}{outcome.share:>8.3f}", end="")
            print(f"{process_time() - start:>8.1f}", flush=True)
            if args.tiles:
                for tiling in (outcome.found, outcome.best):
                    print(f"    {list(tiling.tile)} loops {list(tiling.order)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
