"""Search for tiles downwards: halve until they fit, then as long as the estimate improves."""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.estimate import Estimate, estimate
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.granule import granules


def shrink(kernel: BoundKernel, tiling: Tiling, target: Target) -> tuple[Tiling, Estimate]:
    """The last tiling and its estimate; every step halves one axis, kept to its granule."""
    steps = granules(kernel, target)
    score = estimate(kernel, tiling, target)
    while True:
        options = [(estimate(kernel, t, target), t) for t in _halved(tiling, steps)]
        if not options:
            return tiling, score
        now = score
        best, candidate = min(options, key=lambda option: _rank(option[0], now))
        if score.fits and not (best.fits and best.time_ps < score.time_ps):
            return tiling, score
        if not score.fits and best.used >= score.used:
            return tiling, score
        tiling, score = candidate, best


def _rank(option: Estimate, now: Estimate) -> tuple[float, ...]:
    """While nothing fits: least extra traffic for each byte saved. Then: least time."""
    if now.fits:
        return (not option.fits, option.time_ps, option.used)
    if option.fits:
        return (0, option.time_ps, option.used)
    saved = now.used - option.used
    return (1, option.bytes / saved if saved > 0 else float("inf"), option.used)


def _halved(tiling: Tiling, steps: list[int]) -> Iterator[Tiling]:
    for axis, (size, step) in enumerate(zip(tiling.tile, steps, strict=True)):
        half = -(-size // 2)
        if half > step:
            half = -(-half // step) * step
        if half < size:
            tile = (*tiling.tile[:axis], half, *tiling.tile[axis + 1 :])
            yield Tiling(tile, tiling.order)
