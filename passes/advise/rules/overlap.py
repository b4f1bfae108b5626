"""overlap: loads, work and stores take turns where they could run beside each other.

What it checks: for a dispatch whose time is above its bound, which wait keeps it there. It
simulates the same tiles with more of them in flight; tiles small enough for a second buffer,
where there is one; blocks of a fused attention that do not wait for each other; and, at high effort
where the time lies between the bound and the sum of all least times and no rule finds anything
else, the same program with one resource at a time practically free, other than the one that sets
the bound.
Why it matters: between its bound and the sum of all resources' least times a dispatch gains by
nothing but overlap. What a wait is worth is what the time loses when it is gone.
Example: a matrix unit that idles while the next tile of its only buffer is loaded.
What to do: deeper prefetch or a second buffer in the compiler that programs this chip. What only
another machine would change (a latency, a set-up cost) is said as such and adds to no total.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.case import HYPOTHETICAL, Case, Proposal
from xpu_shark.passes.advise.ceilings import above_bound_ps
from xpu_shark.passes.advise.config import allowed, config
from xpu_shark.passes.advise.tiles import changes_reduction, in_use, sizes
from xpu_shark.passes.annotate import wording
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.plan import Tiling, phases
from xpu_shark.simulator.residency import Residency
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.granule import granules
from xpu_shark.simulator.variation import relaxed, time_after

NAME = "overlap"
CATEGORY = "xpu-shark.tiling"


def ceiling(run: KernelRun, target: Target) -> int:
    if target.core is not None:  # a cache has no buffers that a program fills
        return 0
    least = run.bounds.least_ps
    return above_bound_ps(run) if run.bounds.bound_ps > least["launch"] else 0


def propose(case: Case) -> Iterator[Proposal]:
    """What the program can change; then the one resource that would give most."""
    residency = _residency(case, case.run.plan)
    sides = zip(case.run.plan.tile, case.kernel.axes, strict=True)
    looped = any(size < axis.extent for size, axis in sides)
    if looped and case.run.plan.serial:
        yield _overlapping(case)
    elif looped and residency.buffers == 1:
        yield from _second_buffer(case) if not case.run.plan.apart else ()
    elif looped and residency.buffers == case.target.dma.stages:
        yield _deeper(case)
    if case.thorough and case.run.time_ps <= case.run.bounds.serial_ps:
        yield from _costliest(case)


def _second_buffer(case: Case) -> Iterator[Proposal]:
    """The largest tiles of which two fit."""
    tiling, steps = case.run.plan, granules(case.kernel, case.target)
    while _residency(case, tiling).buffers < 2:
        options = [
            (estimate(case.kernel, smaller, case.target).time_ps, smaller.tile, smaller)
            for axis in range(len(steps))
            if (smaller := _halved(tiling, axis, steps[axis])) is not None
        ]
        if not options:
            return
        tiling = min(options)[2]
    if not allowed(case)(tiling):
        return
    yield Proposal(
        condition=f"{in_use(case)}, which leaves room for a single buffer",
        suggestion=f"a second buffer: tile {sizes(case, tiling)} {config(case, tiling)}".strip(),
        launches=((case.kernel, tiling),),
        confidence="medium" if changes_reduction(case, tiling) else "high",
    )


def _overlapping(case: Case) -> Proposal:
    """The same blocks, of which the next is loaded and begun before one is done."""
    return Proposal(
        condition=f"{in_use(case)}, blocks that wait for each other",
        suggestion="the same blocks in a kernel that loads and begins the next before one is done",
        launches=((case.kernel, msgspec.structs.replace(case.run.plan, serial=False)),),
        confidence="medium",
    )


def _halved(tiling: Tiling, axis: int, step: int) -> Tiling | None:
    half = max(-(-tiling.tile[axis] // 2), step)
    if half >= tiling.tile[axis]:
        return None
    return Tiling((*tiling.tile[:axis], half, *tiling.tile[axis + 1 :]), tiling.order)


def _deeper(case: Case) -> Proposal:
    """Twice as many tiles in flight, as far as they fit."""
    stages = case.target.dma.stages

    def deeper(target: Target) -> Target:
        dma = msgspec.structs.replace(target.dma, stages=2 * stages)
        return msgspec.structs.replace(target, dma=dma)

    return Proposal(
        condition=f"{stages} tiles of an operand in flight",
        suggestion=f"deeper prefetch, {2 * stages} tiles in flight where they fit",
        launches=((case.kernel, case.run.plan),),
        confidence="high",
        machine=deeper,
    )


def _costliest(case: Case) -> Iterator[Proposal]:
    """The resource without which the program ends first, other than the one that sets the bound,
    which no overlap hides, and the launch, which is another rule's business."""
    least = case.run.bounds.least_ps
    bound = max(least, key=lambda name: (least[name], name))
    launch, base = (case.kernel, case.run.plan), (case.target, case.run.time_ps)
    times = [
        (time_after(launch, base, target), what)
        for what, target in relaxed(case.target)
        if what not in ("launch", f"{bound} bandwidth", f"{bound} unit")
    ]
    _, what = min(times)
    yield Proposal(
        condition=wording.wait(case.run),
        suggestion=f"a practically free {what}",
        launches=((case.kernel, case.run.plan),),
        confidence=HYPOTHETICAL,
        machine=lambda target: dict(relaxed(target))[what],
    )


def _residency(case: Case, tiling: Tiling) -> Residency:
    spread = case.target.execution == "waves"
    parts = phases(case.kernel, tiling, distributed=spread)
    return Residency(case.kernel, tiling, case.target, parts)
