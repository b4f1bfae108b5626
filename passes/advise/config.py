"""A tiling as IREE spells it, and which tilings its code generator takes.

What the tiling does not set stays as IREE chose it: instruction, promoted operands, vector sizes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod

from xpu_shark.passes.advise.case import Case
from xpu_shark.simulator.bind import BoundNest
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.plan import Tiling

Spell = Callable[[Case, BoundNest, Sequence[int]], str | None]
_INTRINSIC = re.compile(r"mma_kind = #iree_gpu\.mma_layout<\w+?_(\d+)x(\d+)x(\d+)_")
MOST_IN_TILE = 512  # rows, columns and terms of a workgroup's tile, for want of registers


def config(case: Case, tiling: Tiling) -> str:
    """The `lowering_config` of the kernel's main nest with the tiling's sizes; empty where IREE
    does not program the target, or would refuse it, or spells its tiles otherwise."""
    nest, spell = _main(case), _speller(case)
    text = spell(case, nest, _tile(nest, tiling)) if nest and spell else None
    return f"({text})" if text else ""


def allowed(case: Case) -> Callable[[Tiling], bool]:
    """Whether a tiling has a `lowering_config` that IREE takes; True for all where IREE does not
    program the target or spells its tiles otherwise."""
    nest, spell = _main(case), _speller(case)
    if nest is None or spell is None:
        return lambda _: True
    return lambda tiling: spell(case, nest, _tile(nest, tiling)) is not None


def _main(case: Case) -> BoundNest | None:
    """The nest whose `lowering_config` distributes the dispatch."""
    nests = [nest for nest in case.kernel.nests if nest.tiles]
    return max(nests, key=lambda nest: (len(nest.tiles), nest.points), default=None)


def _speller(case: Case) -> Spell | None:
    """How the backend spells the main nest's tiles, where that is known."""
    nest, backend = _main(case), case.kernel.backend
    if nest is None or backend not in case.target.iree.backends:
        return None
    if any(len(sizes) != len(nest.extents) for sizes in _levels(nest).values()):
        return None
    if backend == "llvm-cpu" and "distribution" in _levels(nest):
        return _cpu
    whole = {"workgroup", "subgroup", "reduction"} <= _levels(nest).keys()
    if backend == "rocm" and whole and nest.contraction and _INTRINSIC.search(nest.config):
        return None if "padding" in nest.config else _matrix_cores
    return None


def _tile(nest: BoundNest, tiling: Tiling) -> list[int]:
    return [tiling.tile[axis] for axis in nest.axes]


def _levels(nest: BoundNest) -> dict[str, list[int]]:
    """Sizes by name, as written."""
    found = re.findall(r"\b(\w+) = \[([\d, ]+)\]", nest.config)
    levels = {name: [int(size) for size in sizes.split(",")] for name, sizes in found}
    levels.pop("promote_operands", None)
    return levels


def _replaced(text: str, name: str, sizes: Sequence[int]) -> str:
    return re.sub(rf"\b{name} = \[[^\]]*\]", f"{name} = {list(sizes)}", text)


def _cpu(case: Case, nest: BoundNest, tile: Sequence[int]) -> str | None:
    """Any share of a workgroup in whole vectors; the reduction as it is: IREE cuts it in the
    core, by vectors."""
    levels, text = _levels(nest), nest.config
    now = _tile(nest, case.run.plan)
    vectors = levels.get("vector_common_parallel", [0] * len(tile))
    for size, old, free, vector, extent in zip(
        tile, now, nest.parallel, vectors, nest.extents, strict=True
    ):
        if (not free and size != old) or (free and vector and size % vector and size < extent):
            return None
    shares = [size if free else 0 for size, free in zip(tile, nest.parallel, strict=True)]
    if case.target.execution == "waves":
        return _replaced(text, "distribution", shares)
    if "cache_parallel" not in levels:
        return None
    dealt = (
        old if share and not old % share else share
        for old, share in zip(levels["distribution"], shares, strict=True)
    )
    return _replaced(_replaced(text, "distribution", list(dealt)), "cache_parallel", shares)


def _matrix_cores(case: Case, nest: BoundNest, tile: Sequence[int]) -> str | None:
    """IREE's constraints on its tile-and-fuse pipeline (those that
    `--iree-codegen-emit-pipeline-constraints` writes), with the workgroup size left as it is."""
    levels, found, dims = _levels(nest), _INTRINSIC.search(nest.config), nest.contraction
    assert found
    assert dims
    if not (dims.m and dims.n and dims.k):
        return None
    steps = dict(zip((dims.m[-1], dims.n[-1], dims.k[-1]), map(int, found.groups()), strict=True))
    for dim, (size, old) in enumerate(zip(tile, _tile(nest, case.run.plan), strict=True)):
        if dim not in steps and size != old:
            return None
        step = steps.get(dim, 1)
        if size % step or nest.extents[dim] % size or (dim in steps and size > MOST_IN_TILE):
            return None
    m, n, k = steps
    operands = ((m, dims.lhs_element), (n, dims.rhs_element))
    moved = sum(storage_bytes(element, tile[dim] * tile[k]) for dim, element in operands)
    split = _subgroups(levels, steps, tile, (m, n))
    if moved > case.target.memory[-1].bytes or split is None:
        return None
    shares = [size if free else 0 for size, free in zip(tile, nest.parallel, strict=True)]
    subgroup, reduction = list(levels["subgroup"]), list(levels["reduction"])
    subgroup[m], subgroup[n] = split
    reduction[k] = tile[k] // steps[k]
    text = _replaced(nest.config, "workgroup", shares)
    return _replaced(_replaced(text, "subgroup", subgroup), "reduction", reduction)


def _subgroups(
    levels: dict[str, list[int]], steps: dict[int, int], tile: Sequence[int], dims: tuple[int, int]
) -> tuple[int, int] | None:
    """Instructions of one subgroup along rows and columns, as square as can be, with as many
    subgroups as now; None where the tile cannot be dealt out to that many."""
    now, taken = levels["workgroup"], levels["subgroup"]
    if not all(taken[dim] for dim in dims):
        return None
    count = prod(now[dim] // (taken[dim] * steps[dim]) for dim in dims)
    rows, columns = (tile[dim] // steps[dim] for dim in dims)
    choices = [
        (rows // across, columns // (count // across))
        for across in range(1, count + 1)
        if not (count % across or rows % across or columns % (count // across))
    ]
    return min(choices, key=lambda choice: abs(choice[0] - choice[1]), default=None)
