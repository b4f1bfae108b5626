"""Tile-and-fuse on matrix cores: `workgroup` in elements, `subgroup` and the reduction in
instructions, `padding` where a size is no multiple of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xpu_shark.passes.advise.case import Case
from xpu_shark.passes.advise.spellings.intrinsic import (
    MOST_IN_TILE,
    Product,
    product,
    squarest,
)
from xpu_shark.passes.advise.spellings.op import Op


def takes(op: Op) -> bool:
    """A reduction of several loops may be listed as one: a convolution as the product of its
    unrolled windows."""
    names, free = {"workgroup", "subgroup", "reduction"}, sum(op.free)
    lengths = {len(sizes) for name, sizes in op.levels.items() if name != "padding_conv"}
    flat = all(op.free[:free]) and lengths == {free + 1}
    return (
        names <= op.levels.keys()
        and product(op) is not None
        and (flat or lengths == {len(op.extents)})
    )


def spell(case: Case, op: Op, tile: Sequence[int]) -> str | None:
    """IREE's constraints on its tile-and-fuse pipeline (those that
    `--iree-codegen-emit-pipeline-constraints` writes), with the workgroup size left as it is:
    tiles of whole instructions that divide the sizes filled up to whole instructions, and as
    many instructions for every subgroup."""
    work = product(op)
    assert work is not None
    shares = _shares(op, work, tile)
    terms = _terms(op, work, tile)
    if shares is None or terms is None:
        return None
    rows, columns = (prod(shares[d] for d in loops) for loops in (work.rows, work.columns))
    # A padded result that other work of the dispatch reads goes through shared memory.
    held = "padding" in op.levels and len(case.kernel.nests) > 1
    if max(rows, columns) > MOST_IN_TILE or not work.fits(case, rows, columns, terms, held=held):
        return None
    split = _split(op, work, shares)
    if split is None:
        return None
    place = len(op.levels["reduction"]) - 1 if _flat(op) else work.terms[-1]
    workgroup, subgroup = list(op.levels["workgroup"]), list(op.levels["subgroup"])
    padding, reduction = list(op.levels.get("padding", [])), list(op.levels["reduction"])
    window = list(op.levels.get("padding_conv", []))
    reduction[place] = terms // work.steps[work.terms[-1]]
    for level in (workgroup, padding, window):
        for loop, share in shares.items():
            if level:
                level[loop] = share
    for loop, share in split.items():
        subgroup[loop] = share
    if padding:
        padding[place] = terms
    levels = {"workgroup": workgroup, "subgroup": subgroup, "reduction": reduction}
    levels |= {
        name: sizes for name, sizes in (("padding", padding), ("padding_conv", window)) if sizes
    }
    return op.replaced(**levels)


def _flat(op: Op) -> bool:
    return len(op.levels["reduction"]) < len(op.extents)


def _shares(op: Op, work: Product, tile: Sequence[int]) -> dict[int, int] | None:
    """A workgroup's elements along each loop over rows and columns, in whole instructions; every
    other parallel loop has to stay as it is."""
    shares = {}
    for loop, (size, extent) in enumerate(zip(tile, op.extents, strict=True)):
        if loop in work.terms:
            continue
        if loop not in (*work.rows, *work.columns):
            if size != op.now[loop]:
                return None
            continue
        shares[loop] = work.filled(loop, size)
        if work.filled(loop, extent) % shares[loop]:
            return None
        if size < extent and size != shares[loop]:
            return None
    return shares


def _terms(op: Op, work: Product, tile: Sequence[int]) -> int | None:
    """Terms of the product in one step, in whole instructions. Listed as one size they are
    consecutive: an outer loop is cut to single turns before an inner one is cut at all."""
    inner = work.terms[-1]
    now = op.levels["reduction"][-1 if _flat(op) else inner] * work.steps[inner]
    if all(tile[loop] == op.now[loop] for loop in work.terms):
        return now
    if not _flat(op):
        if any(tile[loop] != op.now[loop] for loop in work.terms[:-1]):
            return None
        return _even(tile[inner], op.extents[inner], work.steps[inner])
    if "padding_conv" in op.levels and any(op.levels["padding_conv"][d] for d in work.terms):
        return None  # a loop of the window is filled up itself
    whole = True
    for loop in reversed(work.terms):
        if not whole and tile[loop] > 1:
            return None
        whole &= tile[loop] == op.extents[loop]
    size, extent = (prod(sizes[d] for d in work.terms) for sizes in (tile, op.extents))
    return _even(size, extent, work.steps[inner])


def _even(size: int, extent: int, step: int) -> int | None:
    """`size`, or the whole extent filled up, where it divides that; None otherwise."""
    filled = -(-extent // step) * step
    terms = filled if size == extent else size
    return None if terms % step or filled % terms or terms > MOST_IN_TILE else terms


def _split(op: Op, work: Product, shares: dict[int, int]) -> dict[int, int] | None:
    """Instructions of one subgroup along each loop, with as many subgroups as now."""
    old, taken = op.levels["workgroup"], op.levels["subgroup"]
    if not all(taken[loop] for loop in shares):
        return None
    counts = {loop: share // work.steps.get(loop, 1) for loop, share in shares.items()}
    groups = prod(old[loop] // (taken[loop] * work.steps.get(loop, 1)) for loop in shares)
    across = squarest(work, counts, groups)
    return None if across is None else {d: counts[d] // across[d] for d in shares}
