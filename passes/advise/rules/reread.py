"""reread: an operand comes from main memory more than once.

What it checks: how often the tile loops load each operand in one launch. For one that comes more
than once it simulates the same kernel with the operand kept: its loops outermost, what is reduced
over it whole, and the other tiles as small as that needs.
Why it matters: every further pass costs the operand's bytes again, at the slowest memory's rate.
Example: a softmax whose row passes in pieces is read three times, for the maximum, the sum and
the division; with tiles of whole rows it is read once.
What to do: set the tile and loop order that the remark gives, or keep the operand in a scratchpad
buffer. Results stay bit for bit unless the reduction is cut differently.
"""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.ceilings import excess_ps
from xpu_shark.passes.advise.config import allowed, config
from xpu_shark.passes.advise.reloads import passes, worst_first
from xpu_shark.passes.advise.tiles import changes_reduction, in_use, sizes
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.shrink import shrink

NAME = "reread"
CATEGORY = "xpu-shark.memory"
SEARCHES = True
WORTH_SAYING = 1.5  # passes; less are edges of tiles that overlap


def ceiling(run: KernelRun, target: Target) -> int:
    """Nothing where caches keep what fits, or where `fused_attention` speaks."""
    return 0 if target.core is not None or run.plan.apart else excess_ps(run, target)


def propose(case: Case) -> Iterator[Proposal]:
    """The operand whose further passes move most bytes, kept."""
    now = passes(case.kernel, case.run.plan, case.target)
    for tensor in worst_first(case.kernel, now):
        if now[tensor] < WORTH_SAYING:
            continue
        tiling = _keeping(case, tensor)
        if tiling is None:
            continue
        yield Proposal(
            condition=f"{in_use(case)}, {case.named(tensor)} loaded {now[tensor]:.3g} times",
            suggestion=f"keep it: tile {sizes(case, tiling)} {config(case, tiling)}".strip(),
            launches=((case.kernel, tiling),),
            confidence="medium" if changes_reduction(case, tiling) else "high",
        )
        return


def _keeping(case: Case, tensor: int) -> Tiling | None:
    """The tiling of least estimate that loads the tensor once."""
    kernel, plan = case.kernel, case.run.plan
    own = {
        nest.axes[dim]
        for nest in kernel.nests
        for access in nest.reads
        if access.tensor == tensor
        for index in access.map
        for dim, _ in index.terms
    }
    order = (*(a for a in plan.order if a in own), *(a for a in plan.order if a not in own))
    found, legal = [], allowed(case)
    for whole in ({a for a in own if a not in plan.order}, set(range(len(kernel.axes))) - own):
        tile = [
            max(axis.extent, 1) if number in whole else plan.tile[number]
            for number, axis in enumerate(kernel.axes)
        ]
        tiling, score = shrink(kernel, Tiling(tuple(tile), order), case.target)
        once = passes(kernel, tiling, case.target)[tensor] < WORTH_SAYING
        if score.fits and once and legal(tiling):
            found.append((score.time_ps, tiling.tile, tiling))
    return min(found)[2] if found else None
