"""spill: a transient tensor does not fit beside the core and goes out to main memory.

What it checks: whether a tensor that passes between the loop nests of one dispatch is stored to
main memory and loaded again because its tile is larger than the innermost memory has room for.
It simulates smaller tiles of the loops that producer and reader share, with which nothing spills.
Why it matters: a spill costs the tensor's bytes twice, which fusing the nests was to save.
Example: attention scores of 512 x 4096 f32 a tile, 8 MiB, on a core with 64 KiB.
What to do: set the tile that the remark gives. Where no tile fits see the rule unfuse.
"""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.ceilings import excess_ps
from xpu_shark.passes.advise.config import allowed, config
from xpu_shark.passes.advise.reloads import spilled
from xpu_shark.passes.advise.tiles import changes_reduction, in_use, sizes
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.granule import granules

NAME = "spill"
CATEGORY = "xpu-shark.memory"


def ceiling(run: KernelRun, target: Target) -> int:
    """Nothing where caches keep what fits, or where `fused_attention` speaks."""
    return 0 if target.core is not None or run.plan.apart else excess_ps(run, target)


def propose(case: Case) -> Iterator[Proposal]:
    """The largest tiles with which nothing spills."""
    out = spilled(case.kernel, case.run.plan, case.target)
    if not out:
        return
    tiling = _without_spill(case)
    if tiling is None or not allowed(case)(tiling):
        return
    level = case.target.memory[-1]
    yield Proposal(
        condition=f"{in_use(case)}, {case.named(out[0])} does not fit "
        f"{level.name} ({level.bytes} B) and goes out to memory",
        suggestion=f"tile {sizes(case, tiling)} {config(case, tiling)}".strip(),
        launches=((case.kernel, tiling),),
        confidence="medium" if changes_reduction(case, tiling) else "high",
    )


def _without_spill(case: Case) -> Tiling | None:
    """Halves the largest tile of a parallel axis until nothing spills; None if that is not
    enough."""
    tiling, steps = case.run.plan, granules(case.kernel, case.target)
    while spilled(case.kernel, tiling, case.target) or not _fits(case, tiling):
        cuttable = [axis for axis in tiling.order if tiling.tile[axis] > steps[axis]]
        if not cuttable:
            return None
        axis = max(cuttable, key=lambda axis: (tiling.tile[axis] // steps[axis], -axis))
        half = max(-(-tiling.tile[axis] // 2), steps[axis])
        tile = (*tiling.tile[:axis], half, *tiling.tile[axis + 1 :])
        tiling = Tiling(tile, tiling.order)
    return tiling


def _fits(case: Case, tiling: Tiling) -> bool:
    return estimate(case.kernel, tiling, case.target).fits
