"""gather_chain: rows are picked from what another dispatch has picked.

What it checks: whether a dispatch only picks elements by index, and all that read its result pick
from that again. It simulates the readers with both picks in one: an index of an index, then the
element of the first table itself.
Why it matters: the first dispatch fetches and stores every row that anybody might want, and the
second one waits for it and fetches some of them again. Picked directly each wanted row comes once.
Example: pages of a cache gathered by a block table, then the tokens of one request picked from
them; all embeddings of a prompt, then the last one of each sequence.
What to do: compose the indices (`table[pages[tokens]]`): gather the indices first, which are few
bytes, then the rows, once. Results stay bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.dataflow import Change, Dataflow
from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.nest_cost import FREE
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.workload import Access, Index

NAME = "gather_chain"
CATEGORY = "xpu-shark.memory"
replace = msgspec.structs.replace


def propose(flow: Dataflow, target: Target) -> Iterator[Change]:
    """Every dispatch that only picks, with readers that all pick from its result."""
    for step, each in enumerate(flow.steps):
        made = None if each.kernel is None else picked(each.kernel)
        if made is None or not flow.private((step, made)):
            continue
        assert each.kernel is not None
        readers = flow.readers.get((step, made), [])
        after = [composed(each.kernel, flow.steps[r].kernel, made, tensor) for r, tensor in readers]
        kernels = tuple(kernel for kernel in after if kernel is not None)
        steps = (step, *(reader for reader, _ in readers))
        if not readers or len(kernels) < len(readers) or len(set(steps)) < len(steps):
            continue
        if not all(flow.convex((step, reader)) for reader, _ in readers):
            continue
        shape = "x".join(map(str, each.kernel.tensors[made].shape))
        names = dict.fromkeys(kernel.name for kernel in kernels)
        yield Change(
            steps=steps,
            after=kernels,
            condition=f"{shape} {each.kernel.tensors[made].element} that {each.kernel.name} picks, "
            f"of which {' and '.join(names)} {'picks' if len(names) == 1 else 'pick'} again",
            suggestion="one pick by an index of an index",
        )


def picked(kernel: BoundKernel) -> int | None:
    """The tensor that the kernel makes, where it does nothing but pick its elements by index, each
    once and in order."""
    if len(kernel.nests) != 1:
        return None
    nest = kernel.nests[0]
    if len(nest.writes) != 1 or not all(work.kind in FREE for work in nest.work):
        return None
    (write,) = nest.writes
    picks = any(index.indirect for read in nest.reads for index in read.map)
    return write.tensor if picks and _straight(write, nest) else None


def _straight(access: Access, nest: BoundNest) -> bool:
    """Whether dimension d is walked by loop d, for all loops."""
    here = tuple(Index(terms=((dim, 1),)) for dim in range(len(nest.extents)))
    return access.map == here


def composed(
    first: BoundKernel, second: BoundKernel | None, made: int, read: int
) -> BoundKernel | None:
    """`second` with the picks of `first` in place of those from its result, its tensor `read`;
    None where it reads that otherwise than by index."""
    if second is None or second.tensors[read].shape != first.tensors[made].shape:
        return None
    uses = [a for nest in second.nests for a in nest.reads if a.tensor == read]
    if not all(any(index.indirect for index in access.map) for access in uses):
        return None
    if any(a.tensor == read for nest in second.nests for a in nest.writes):
        return None
    base = len(second.tensors)
    (source,) = first.nests
    nests = []
    for nest in second.nests:
        reads: list[Access] = []
        for access in nest.reads:
            if access.tensor != read:
                reads.append(access)
                continue
            reads += (
                Access(
                    tensor=base + pick.tensor,
                    map=tuple(_through(index, access) for index in pick.map),
                )
                for pick in source.reads
            )
        nests.append(replace(nest, reads=tuple(reads), tiles=(), config="", pinned=False))
    return replace(second, tensors=(*second.tensors, *first.tensors), nests=tuple(nests))


def _through(index: Index, access: Access) -> Index:
    """A position over the loops of the first dispatch, as one over those of the second: loop d is
    where the second one looks along dimension d."""
    terms: dict[int, int] = {}
    indirect, offset = index.indirect, index.offset
    for dim, factor in index.terms:
        there = access.map[dim]
        indirect |= there.indirect
        offset += factor * there.offset
        for loop, step in there.terms:
            terms[loop] = terms.get(loop, 0) + factor * step
    return Index(terms=tuple(terms.items()), indirect=indirect, offset=offset)
