"""fused_attention: attention runs as product, softmax and product, each over all of its data.

What it checks: whether the chip's compiler has no fused kernel for an attention of these sizes. It
searches the blocks of queries and keys of one that has, and simulates the best.
Why it matters: the scores are as large as queries times keys. They go out to main memory and come
back where the scratchpad does not keep them; a fused kernel never has more of them than a block.
Example: heads of 64, which fill half of a vector register, at a thousand tokens.
What to do: a fused kernel written for these sizes (on TPUs in Pallas, as `flash_attention` and
`splash_attention` of JAX are), or heads padded to a whole vector register that such a kernel takes.
Results differ by rounding: a softmax block by block adds in another order.
"""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.ceilings import above_bound_ps
from xpu_shark.passes.advise.reloads import spilled
from xpu_shark.passes.advise.tiles import in_use, sizes
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.search import QUICK, THOROUGH, search
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target

NAME = "fused_attention"
CATEGORY = "xpu-shark.fusion"


def ceiling(run: KernelRun, target: Target) -> int:
    return above_bound_ps(run) if run.plan.apart else 0


def propose(case: Case) -> Iterator[Proposal]:
    """The best blocks of a fused kernel."""
    plan = case.run.plan
    if not plan.apart:
        return
    fused = Tiling(plan.tile, plan.order)
    effort = THOROUGH if case.thorough else QUICK
    best = search(case.kernel, case.target, fused, effort=effort)[0].tiling
    out = spilled(case.kernel, plan, case.target)
    stored = f", {case.named(out[0])} stored and loaded again" if out else ""
    yield Proposal(
        condition=f"product, softmax and product one after another, {in_use(case)}{stored}",
        suggestion=f"one fused attention kernel in blocks of {sizes(case, best)}",
        launches=((case.kernel, best),),
        confidence="medium",
    )
