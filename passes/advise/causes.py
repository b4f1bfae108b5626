"""What is wrong with a tile, as far as a better one cures it."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xpu_shark.passes.advise.case import Case
from xpu_shark.passes.advise.reloads import bursts, passes, spilled, worst_first
from xpu_shark.passes.annotate.wording import percent
from xpu_shark.simulator.edges import edges
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.plan import Tiling, phases
from xpu_shark.simulator.residency import Residency

CURED = 0.05  # of all, the least change in a share that is worth a word
UNDER_FILLED = 0.5  # of the scratchpad: a tile that takes less leaves room for a larger one


def causes(case: Case, better: Tiling) -> Iterator[str]:
    """Phrases, each about something that `better` has less of."""
    yield from _cut(case, better)
    yield from _tail(case, better)
    if case.target.core is None:
        yield from _room(case, better)
        yield from _reloads(case, better)


def _cut(case: Case, better: Tiling) -> Iterator[str]:
    """Tiles that do not divide the work. One that hardly misses anything costs what a whole one
    does."""
    now, then = case.run.edges, edges(case.kernel, better, case.target)
    if now.padded_share - then.padded_share > CURED:
        yield f"{percent(now.padded_share)} of the multiply-adds on padding"
    emptier = _empty(case, case.run.plan) - _empty(case, better) > CURED
    if emptier and now.edge_share - then.edge_share > CURED:
        yield f"{percent(now.edge_share)} of the work in tiles cut off at an edge"


def _empty(case: Case, tiling: Tiling) -> float:
    """Share of all tiles' room that lies beyond an edge."""
    pairs = list(zip(case.kernel.axes, tiling.tile, strict=True))
    room = prod(-(-axis.extent // size) * size for axis, size in pairs)
    return 1 - prod(axis.extent for axis, _ in pairs) / max(room, 1)


def _tail(case: Case, better: Tiling) -> Iterator[str]:
    """Cores that idle in the last wave, as a share of all cores' time in all waves."""
    if case.target.execution != "waves":
        return
    now, then = (_idle(case, tiling) for tiling in (case.run.plan, better))
    if now - then > CURED:
        yield f"{percent(now)} of the cores' time idle in the last wave"


def _idle(case: Case, tiling: Tiling) -> float:
    tiles, cores = parallel_tiles(case, tiling), case.target.cores
    return 1 - tiles / (-(-tiles // cores) * cores)


def parallel_tiles(case: Case, tiling: Tiling) -> int:
    """Tiles that can run beside each other."""
    return prod(
        -(-axis.extent // size)
        for axis, size in zip(case.kernel.axes, tiling.tile, strict=True)
        if axis.parallel
    )


def _room(case: Case, better: Tiling) -> Iterator[str]:
    """How the tiles lie in the innermost memory."""
    level = case.target.memory[-1].name
    now, then = (estimate(case.kernel, t, case.target) for t in (case.run.plan, better))
    if case.run.note.startswith("tile") or not now.fits:
        yield f"cut down from one that {level} does not hold"
    elif now.used < min(UNDER_FILLED * now.capacity, then.used) and _larger(case, better):
        yield f"{now.used} of {now.capacity} B of {level} filled"
    yield from _turns(case, better)


def _larger(case: Case, better: Tiling) -> bool:
    """Not only more of the same tiles, or of smaller ones, in flight."""
    return prod(better.transfer) > prod(case.run.plan.transfer)


def _turns(case: Case, better: Tiling) -> Iterator[str]:
    """What keeps load, work and store from running beside each other."""
    if case.run.plan.serial and not better.serial:
        yield "blocks that wait for each other"
        return
    turns, more = (_tiles(case, tiling) for tiling in (case.run.plan, better))
    if turns == 1 < more:
        yield "one tile, so that load, work and store take turns"
        return
    now, then = (_residency(case, tiling) for tiling in (case.run.plan, better))
    if turns > 1 and now.buffers == 1 < then.buffers:
        yield "a single buffer"
    elif turns > 1 and now.result_buffers == 1 < then.result_buffers:
        yield "a single buffer for results"
    if turns > 1 and 1 / turns - 1 / more > CURED:
        yield f"{turns} tiles, of which the first load and the last store hide behind nothing"


def _tiles(case: Case, tiling: Tiling) -> int:
    """Tiles that come to one core, one after the other."""
    spread = case.target.execution == "waves"
    pairs = zip(case.kernel.axes, tiling.transfer, strict=True)
    steps = prod(-(-a.extent // size) for a, size in pairs if not (spread and a.parallel))
    return steps * (-(-parallel_tiles(case, tiling) // case.target.cores) if spread else 1)


def _residency(case: Case, tiling: Tiling) -> Residency:
    parts = phases(case.kernel, tiling, distributed=case.target.execution == "waves")
    return Residency(case.kernel, tiling, case.target, parts)


def _reloads(case: Case, better: Tiling) -> Iterator[str]:
    """The operand whose further loads move most bytes, the one whose loads fill least of a burst,
    and transient tensors that go out."""
    now, then = (passes(case.kernel, t, case.target) for t in (case.run.plan, better))
    for tensor in worst_first(case.kernel, now)[:1]:
        if now[tensor] - then.get(tensor, 0.0) > CURED * now[tensor]:
            yield f"{case.named(tensor)} loaded {now[tensor]:.3g} times"
    wired, less = (bursts(case.kernel, t, case.target) for t in (case.run.plan, better))
    for tensor in sorted(wired, key=lambda t: (less.get(t, 1.0) - wired[t], t))[:1]:
        if wired[tensor] - less.get(tensor, 1.0) > CURED * wired[tensor]:
            pieces = f"{percent(1 / wired[tensor])} of {case.target.memory[0].burst_bytes} B bursts"
            yield f"{case.named(tensor)} in pieces that fill {pieces}"
    out = spilled(case.kernel, case.run.plan, case.target)
    if out and not spilled(case.kernel, better, case.target):
        yield f"{case.named(out[0])} stored and loaded again"
