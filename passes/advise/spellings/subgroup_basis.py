"""Vector distribution on matrix cores: sizes in elements, `subgroup_basis` says how many subgroups
lie along each loop."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from xpu_shark.passes.advise.case import Case
from xpu_shark.passes.advise.spellings.intrinsic import MOST_IN_TILE, product, squarest
from xpu_shark.passes.advise.spellings.op import Op

_BASIS = re.compile(r"subgroup_basis = \[\[([\d, ]+)\], \[([\d, ]+)\]\]")
LANES = {"rocm": 64, "cuda": 32}  # of a subgroup, on the chips that target files describe


def takes(op: Op) -> bool:
    found, loops = _BASIS.search(op.config), len(op.extents)
    lengths = {len(op.levels.get(name, ())) for name in ("workgroup", "reduction")}
    if found is None or lengths != {loops} or product(op) is None:
        return False
    return found[2].split(", ") == [str(loop) for loop in range(loops)]


def spell(case: Case, op: Op, tile: Sequence[int]) -> str | None:
    """IREE's constraints on its vector-distribution pipeline (those that
    `--iree-codegen-emit-pipeline-constraints` writes), with the workgroup size left as it is."""
    work, found = product(op), _BASIS.search(op.config)
    assert work is not None
    assert found is not None
    groups = prod(map(int, found[1].split(",")))
    inner = (work.rows[-1], work.columns[-1], work.terms[-1])
    for loop, (size, extent, old) in enumerate(zip(tile, op.extents, op.now, strict=True)):
        if loop not in inner and size != old:
            return None
        if loop in inner and (extent % size or size % work.steps[loop] or size > MOST_IN_TILE):
            return None
    rows, columns, terms = (tile[loop] for loop in inner)
    threads = groups * LANES[case.kernel.backend]
    if rows * terms % threads or columns * terms % threads or terms % work.steps[inner[0]]:
        return None
    if threads > max(rows, columns) or not work.fits(case, rows, columns, terms):
        return None
    counts = {loop: tile[loop] // work.steps[loop] for loop in inner[:2]}
    counts |= {loop: 1 for loop in (*work.rows[:-1], *work.columns[:-1])}
    across = squarest(work, counts, groups)
    if across is None:
        return None
    workgroup, reduction = list(op.levels["workgroup"]), list(op.levels["reduction"])
    workgroup[inner[0]], workgroup[inner[1]], reduction[inner[2]] = rows, columns, terms
    basis = [across.get(loop, 1) for loop in range(len(tile))]
    text = op.replaced(workgroup=workgroup, reduction=reduction)
    return _BASIS.sub(f"subgroup_basis = [{basis}, {list(range(len(tile)))}]", text)
