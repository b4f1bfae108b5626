"""Tiles of a dispatch in words, and what a change of tiles does to its results."""

from __future__ import annotations

from xpu_shark.passes.advise.case import Case
from xpu_shark.simulator.plan import Tiling


def sizes(case: Case, tiling: Tiling) -> str:
    """The tile by axis, loops outermost first where there is a choice, and what a transfer brings
    where that is more: "[128, 512, 768]"."""
    looped = [a for a in tiling.order if tiling.tile[a] < case.kernel.axes[a].extent]
    loops = f" loops {looped}" if len(looped) > 1 else ""
    more = f" in transfers of {list(tiling.transfer)}" if tiling.transfer != tiling.tile else ""
    return f"{list(tiling.tile)}{loops}{more}"


def in_use(case: Case) -> str:
    """The dispatch's own tile, and whose it is to change: the user's where they pinned it, that of
    the compiler or library that programs the chip where it is what that picks."""
    pinned = any(nest.pinned for nest in case.kernel.nests)
    whose = "the pinned " if pinned else "the target compiler's " if by_its_compiler(case) else ""
    return f"{whose}tile {sizes(case, case.run.plan)}"


def by_its_compiler(case: Case) -> bool:
    """Whether the tile is what the chip's own compiler or library picks, as its tiler has it."""
    return case.run.plan.source == "default" and not any(n.pinned for n in case.kernel.nests)


def changes_reduction(case: Case, tiling: Tiling) -> bool:
    """Whether a reduction is cut differently: another order of additions."""
    return any(
        not axis.parallel and tiling.tile[number] != case.run.plan.tile[number]
        for number, axis in enumerate(case.kernel.axes)
    )
