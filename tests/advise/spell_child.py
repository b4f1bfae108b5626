"""Tiles for the dispatches of a program, as IREE spells them: one JSON line a dispatch.

    python spell_child.py TARGET DRAWN IREE-COMPILE-ARGUMENTS

`configs` has the spelling of the best tiling found and of up to DRAWN others that are allowed,
with the number of workgroups that each stands for; `config` is IREE's own.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from xpu_shark.compiler import flags
from xpu_shark.compiler.simulate_main import analyse
from xpu_shark.passes.advise.case import Case, bound
from xpu_shark.passes.advise.config import allowed, config
from xpu_shark.passes.advise.spellings.op import main_op
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.lattice import Lattice
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.search import QUICK, search

DRAWS = 4000
CHANGED = 0.6  # chance that an axis gets another size than it has


def show(analysis: Analysis) -> None:
    assert analysis.report is not None
    assert analysis.workload is not None
    for dispatch in analysis.report.dispatches:
        if dispatch.run is None:
            continue
        kernel = bound(dispatch, analysis.workload, analysis)
        case = Case(dispatch, kernel, dispatch.run, analysis.target)
        op = main_op(case)
        if op is None:
            continue
        tilings = list(dict.fromkeys((*_best(case), *_drawn(case, int(sys.argv[2])))))
        configs = [
            (config(case, tiling)[1:-1], prod(_pieces(op.extents, op.free, op.tile(tiling))))
            for tiling in tilings
        ]
        row = {"name": dispatch.name, "config": op.config, "configs": configs}
        print(json.dumps(row))


def _pieces(
    extents: tuple[int, ...], free: tuple[bool, ...], tile: tuple[int, ...]
) -> Iterator[int]:
    for extent, parallel, size in zip(extents, free, tile, strict=True):
        if parallel:
            yield -(-extent // size)


def _best(case: Case) -> Iterator[Tiling]:
    found = search(case.kernel, case.target, case.run.plan, effort=QUICK, allowed=allowed(case))
    yield from (each.tiling for each in found[:1] if each.tiling != case.run.plan)


def _drawn(case: Case, count: int) -> Iterator[Tiling]:
    rng, plan, legal = random.Random(case.dispatch.name), case.run.plan, allowed(case)
    lattice, found = Lattice(case.kernel, case.target), set()
    for _ in range(DRAWS):
        tile = tuple(
            rng.choice(sizes) if rng.random() < CHANGED else now
            for sizes, now in zip(lattice.sizes, plan.tile, strict=True)
        )
        tiling = Tiling(tile, plan.order)
        if tile in found or not legal(tiling):
            continue
        if estimate(case.kernel, tiling, case.target).fits:
            found.add(tile)
            yield tiling
        if len(found) == count:
            return


if __name__ == "__main__":
    options = flags.options(flags.split([f"--xpu-target={sys.argv[1]}"])[0])
    sys.exit(analyse(sys.argv[3:], replace(options, effort="low"), show) or 0)
