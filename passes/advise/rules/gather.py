"""gather: rows picked by index are too short for the memory's bursts.

What it checks: whether a gather or scatter touches runs shorter than a burst. It simulates the
dispatch with the picked elements next to each other.
Why it matters: each picked run is a burst of its own, whatever it needs of it; in a chain of
gathers each waits for the one before.
Example: 40 keys of 32 bytes picked from a paged cache, in 64-byte bursts.
What to do: pick longer rows (put the dimensions that are taken whole innermost, make pages
larger), sort the indices so that neighbours follow each other, or gather in the dispatch that
uses the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.ceilings import excess_ps
from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.footprint import Region, accesses, region
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.traffic import moved
from xpu_shark.simulator.workload import Access, Index

NAME = "gather"
CATEGORY = "xpu-shark.memory"


def ceiling(run: KernelRun, target: Target) -> int:
    return excess_ps(run, target)


def propose(case: Case) -> Iterator[Proposal]:
    """All picked operands of the dispatch, each in one piece."""
    short = list(_short(case.kernel, case.target))
    if not short:
        return
    tensor, part = max(short, key=lambda pair: (moved(case.target.memory[0], pair[1]), pair[0]))
    chain = f", {len(short)} picks one after another" if len(short) > 1 else ""
    kernel = together(case.kernel)
    yield Proposal(
        condition=f"{part.runs} runs of {part.run_bytes} B picked from {case.named(tensor)} "
        f"in bursts of {case.target.memory[0].burst_bytes} B{chain}",
        suggestion="pick runs of whole bursts: sort the indices, or store what is taken together "
        "next to each other",
        launches=((kernel, case.tiling(kernel)),),
        confidence="medium",
    )


def together(kernel: BoundKernel) -> BoundKernel:
    """The kernel with every picked element next to the one picked before."""
    picked: dict[int, int] = {}  # elements that are picked, by tensor
    for nest in kernel.nests:
        for access, _ in accesses(nest):
            if _picks(access):
                count = region(kernel.tensors[access.tensor], access, nest.extents).elements
                picked[access.tensor] = max(count, picked.get(access.tensor, 0))
    for nest in kernel.nests:  # what is also read whole stays as it is
        for access, _ in accesses(nest):
            if not _picks(access):
                picked.pop(access.tensor, None)
    tensors = tuple(
        msgspec.structs.replace(kind, shape=(picked[number],), contiguous=0)
        if number in picked
        else kind
        for number, kind in enumerate(kernel.tensors)
    )

    def straight(nest: BoundNest, old: tuple[Access, ...]) -> tuple[Access, ...]:
        return tuple(_straight(each, nest) if each.tensor in picked else each for each in old)

    nests = tuple(
        msgspec.structs.replace(
            nest, reads=straight(nest, nest.reads), writes=straight(nest, nest.writes)
        )
        for nest in kernel.nests
    )
    return msgspec.structs.replace(kernel, tensors=tensors, nests=nests)


def _straight(access: Access, nest: BoundNest) -> Access:
    """One index that runs through the picked elements in the order of the loops."""
    terms: list[tuple[int, int]] = []
    step = 1
    for dim in sorted({dim for index in access.map for dim, _ in index.terms}, reverse=True):
        terms.append((dim, step))
        step *= nest.extents[dim]
    return Access(tensor=access.tensor, map=(Index(terms=tuple(terms)),))


def _short(kernel: BoundKernel, target: Target) -> Iterator[tuple[int, Region]]:
    """Tensors with the parts that are picked from them in runs that fill no whole bursts."""
    for nest in kernel.nests:
        for access, _ in accesses(nest):
            if _picks(access):
                part = region(kernel.tensors[access.tensor], access, nest.extents)
                if moved(target.memory[0], part) > part.bytes + target.memory[0].burst_bytes:
                    yield access.tensor, part


def _picks(access: Access) -> bool:
    return any(index.indirect for index in access.map)
