"""tiling: another tile size or loop order is faster.

What it checks: it searches tile sizes around the ones in use and around those that the target's
own compiler would pick, in every loop order, and simulates those that a bound does not rule out.
Why it matters: tiles decide how often operands are loaded again, how well loads hide behind
work, and how much of the matrix unit is padding. The remark names what is wrong with the tile in
use as far as the better one cures it: padding, cut-off tiles, a tail of idle cores, a scratchpad
that overflows or is hardly filled, a single buffer, blocks of a fused attention that wait for each
other, one tile or few for all, operands loaded again or in pieces of a burst.
Example: a 4096 cubed product in tiles of 128 x 128 x 128 loads each operand 32 times; in tiles
of 1024 x 1024 x 512 it loads each 4 times.
What to do: where IREE generates the code, the remark gives the whole `lowering_config`: put it in a
tuning spec or in a `compilation_info` on the op, with the translation_info that IREE chose. Only
tiles that its code generator takes are looked at there. For other chips set the tile in the
compiler that programs them: a tile that the remark calls the target compiler's is what that one
picks by itself, as far as its choices have been measured, and a gain under 3 % over it is not told.
Results stay the same bit for bit unless the reduction is cut
differently.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.causes import causes
from xpu_shark.passes.advise.ceilings import above_bound_ps
from xpu_shark.passes.advise.config import allowed, config
from xpu_shark.passes.advise.tiles import by_its_compiler, changes_reduction, in_use, sizes
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.search import QUICK, THOROUGH, search
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tiling import own as tiler

NAME = "tiling"
CATEGORY = "xpu-shark.tiling"
# As near the best as a search comes (docs/advice.md): a compiler that does is not to blame.
WORTH_CHANGING = 1.03
SEARCHES = True


def ceiling(run: KernelRun, target: Target) -> int:
    return 0 if run.plan.apart else above_bound_ps(run)  # of which `fused_attention` speaks


def propose(case: Case) -> Iterator[Proposal]:
    """The fastest tiling found, if it is not the one in use."""
    if not above_bound_ps(case.run):
        return
    best = _best(case)
    if _same(case, best):
        return
    ahead = "in blocks that overlap " if case.run.plan.serial and not best.serial else ""
    yield Proposal(
        condition=", ".join((in_use(case), *causes(case, best))),
        suggestion=f"tile {sizes(case, best)} {ahead}{config(case, best)}".strip(),
        launches=((case.kernel, best),),
        confidence="medium" if changes_reduction(case, best) else "high",
        worth=WORTH_CHANGING if by_its_compiler(case) else 1.0,
    )


def _best(case: Case) -> Tiling:
    """The fastest of the tilings around the one in use and around the target's own choice that
    the code generator takes."""
    start, own = case.run.plan, tiler(case.kernel, case.target)
    legal, effort = allowed(case), THOROUGH if case.thorough else QUICK
    extra = [own] if legal(own) else []
    found = search(case.kernel, case.target, start, extra, effort=effort, allowed=legal)
    return found[0].tiling


def _same(case: Case, tiling: Tiling) -> bool:
    plan = case.run.plan
    return msgspec.structs.replace(tiling, source=plan.source) == plan
