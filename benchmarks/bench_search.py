"""The tiling search against trying everything.

    python benchmarks/bench_search.py [--targets=tpu_v6e,...] [--kernels=matmul_1024,...]

For each kernel and target every tiling is tried: all sizes of the lattice that the search walks
(`simulator/lattice.py`: multiples of the units' steps and equal pieces, along every axis) times all
orders of the loops, as far as they fit the innermost memory. A tiling whose program keeps some unit
busy for longer than the best time so far is not run, which cannot change the minimum. Printed are
the time of the best tiling found by the search over that of the best there is, the simulations
of the search, and their share of the tilings tried. Ends with 1 if one of the two misses its bar.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations, product
from time import process_time

import resnet18
from iree.compiler import ir

from xpu_shark.passes.bridge.read_kernel import read_kernel
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
from xpu_shark.simulator.workload import Kernel

MOST_OVER = 1.03  # time of the tiling found over that of the best there is
MOST_SHARE = 0.05  # simulations of the search over tilings tried
TARGETS = ("tpu_v6e", "mi300x", "xdna2")


@dataclass(frozen=True)
class Outcome:
    """`best_ps` of all `tried` tilings; the search found `found_ps` with `simulated` runs."""

    best_ps: int
    found_ps: int
    tried: int
    simulated: int

    @property
    def over(self) -> float:
        return self.found_ps / self.best_ps

    @property
    def share(self) -> float:
        return self.simulated / self.tried


def _attention(heads: int, rows: int, columns: int, width: int) -> Kernel:
    """Attention of `rows` queries and `columns` keys a head, in bf16."""
    dims = "h, m, n, k1, k2"
    uses = ("h, m, k1", "h, k2, k1", "h, k2, n", "", "h, m, n")
    maps = ", ".join(f"affine_map<({dims}) -> ({use})>" for use in uses)
    few, many = (f"tensor<{heads}x{size}x{width}xbf16>" for size in (rows, columns))
    text = f"""
func.func @f(%q: {few}, %k: {many}, %v: {many}, %s: bf16) -> {few} {{
  %e = tensor.empty() : {few}
  %0 = iree_linalg_ext.attention <{{indexing_maps = [{maps}]}}>
    ins(%q, %k, %v, %s : {few}, {many}, {many}, bf16) outs(%e : {few}) {{
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  }} -> {few}
  return %0 : {few}
}}"""
    with ir.Context():
        module = ir.Module.parse(text)
        (function,) = module.body.operations
        return read_kernel(function.operation, name="attention", backend="", location="")


def _convolution(size: int, inputs: int, outputs: int, taps: int) -> Kernel:
    return resnet18.convolution("conv", size, inputs, outputs, taps, 1, "bf16")


def _matmul(m: int, n: int, k: int) -> Kernel:
    return resnet18.matmul(m, n, k, "bf16")


KERNELS: dict[str, Callable[[], Kernel]] = {
    "matmul_1024": lambda: _matmul(1024, 1024, 1024),
    "matmul_4096": lambda: _matmul(4096, 4096, 4096),
    "matmul_1000": lambda: _matmul(1000, 1000, 1000),
    "matmul_128x3072x768": lambda: _matmul(128, 3072, 768),
    "conv_1x1_56": lambda: _convolution(56, 256, 64, 1),
    "conv_1x1_28": lambda: _convolution(28, 512, 128, 1),
    "conv_3x3_56": lambda: _convolution(56, 64, 64, 3),
    "conv_3x3_7": lambda: _convolution(7, 512, 512, 3),
    "attention_12x512x64": lambda: _attention(12, 512, 512, 64),
    "attention_8x2048x128": lambda: _attention(8, 2048, 2048, 128),
    "attention_16x1024x128": lambda: _attention(16, 1024, 1024, 128),
    "attention_3x197x64": lambda: _attention(3, 197, 197, 64),
}


def compare(kernel: BoundKernel, target: Target) -> Outcome:
    """The search, then all tilings."""
    start = tilings.choose(kernel, target, "default")
    found = search(kernel, target, start)
    best, tried = found[0].run.time_ps, 0
    for tiling in _every(kernel, target, start):
        tried += 1
        if least_ps(lower(kernel, tiling, target)) < best:
            best = min(best, time_ps(kernel, tiling, target))
    return Outcome(best, found[0].run.time_ps, tried, len(found))


def _every(kernel: BoundKernel, target: Target, start: Tiling) -> Iterator[Tiling]:
    """All tilings of the lattice that fit, least estimate first, so that bounds rule out more."""
    lattice = Lattice(kernel, target)
    alike = {
        lattice.canonical(Tiling(tile, order))
        for tile in product(*lattice.sizes)
        for order in _orders(kernel, start, tile)
    }
    scored = [(estimate(kernel, tiling, target), tiling) for tiling in alike]
    fitting = [(score.time_ps, tiling) for score, tiling in scored if score.fits]
    yield from (tiling for _, tiling in sorted(fitting, key=lambda pair: (pair[0], pair[1].tile)))


def _orders(kernel: BoundKernel, start: Tiling, tile: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every order of the loops over parallel axes that turn more than once."""
    looped = [axis for axis in start.order if tile[axis] < kernel.axes[axis].extent]
    rest = tuple(axis for axis in start.order if axis not in looped)
    for order in permutations(looped):
        yield (*order, *rest)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--kernels", default=",".join(KERNELS))
    args = parser.parse_args()
    print(f"{'kernel':<24}{'target':<10}{'found us':>12}{'over best':>10}{'runs':>6}", end="")
    print(f"{'of':>8}{'share':>8}{'CPU s':>8}")
    missed = 0
    for name in args.kernels.split(","):
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
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
