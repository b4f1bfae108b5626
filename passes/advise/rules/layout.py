"""layout: strided access wastes part of every memory burst.

What it checks: whether contiguous runs of an operand's tile are shorter than the memory's burst.
It simulates the dispatch with that operand's dimensions stored in the order in which a tile
covers most of a run, and without the elements between those that the dispatch takes: a column of
a wider array, every n-th element.
Why it matters: memory moves whole bursts. A column of 4-byte elements in 64-byte bursts moves
sixteen times its bytes.
Example: the second operand of a product with a vector, stored [k, n] and read along k; one field
of records of sixteen.
What to do: store the tensor in the order that the remark gives: fold the transpose into the
weights, or let IREE pack it (`--iree-opt-data-tiling`); an array of its own for each field. What
makes the tensor must then write that order, which is not counted. Results stay bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import permutations

import msgspec

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.ceilings import excess_ps
from xpu_shark.passes.advise.packed import packed
from xpu_shark.passes.advise.rules.standalone_copy import only_moves
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.estimate import operands
from xpu_shark.simulator.plan import Tiling, phases
from xpu_shark.simulator.residency import Residency
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.workload import Access

NAME = "layout"
CATEGORY = "xpu-shark.memory"
SEARCHES = True
PACKED = "stored without what lies between its elements, as an array of its own"
MOST_DIMS = 5  # orders of more dimensions are not tried


def ceiling(run: KernelRun, target: Target) -> int:
    return excess_ps(run, target)


def propose(case: Case) -> Iterator[Proposal]:
    """The operand that gains most bytes by another order of its dimensions, or those with gaps that
    do without. Not of a dispatch that does nothing but bring it into another order."""
    if only_moves(case.kernel):
        return
    kernel, plan = case.kernel, case.run.plan
    now = _moved(kernel, plan, case.target)
    found = []

    def add(tensors: tuple[int, ...], how: str, other: BoundKernel) -> None:
        then = _moved(other, plan, case.target)
        if all(then[tensor] < now[tensor] for tensor in tensors):
            found.append((sum(then[t] - now[t] for t in tensors), tensors, how, other))

    for tensor in now:
        for how, other in _layouts(kernel, tensor):
            add((tensor,), how, other)
    gapless = tuple(tensor for _, (tensor,), how, _ in found if how == PACKED)
    if len(gapless) > 1:
        add(gapless, f"each {PACKED}", reduce(lambda k, t: packed(k, t) or k, gapless, kernel))
    if not found:
        return
    gain, tensors, how, other = min(found, key=lambda each: each[:2])
    moved = sum(now[tensor] for tensor in tensors)
    names = " and ".join(dict.fromkeys(case.named(tensor) for tensor in tensors))
    yield Proposal(
        condition=f"strided access to it, {moved} B in bursts of "
        f"{case.target.memory[0].burst_bytes} B for {moved + gain} B",
        suggestion=f"{names} {how}",
        launches=((other, plan),),
        confidence="high",
    )


def _layouts(kernel: BoundKernel, tensor: int) -> Iterator[tuple[str, BoundKernel]]:
    """Other ways to store a tensor, in words, with the kernel that has it so."""
    dense = packed(kernel, tensor)
    if dense is not None:
        yield PACKED, dense
    for order in _orders(kernel, tensor):
        words = f"stored with its dimensions in the order {list(order)}"
        yield words, stored(kernel, tensor, order)


def stored(kernel: BoundKernel, tensor: int, order: tuple[int, ...]) -> BoundKernel:
    """The kernel with dimension `order[i]` of the tensor stored as its i-th."""
    kind = kernel.tensors[tensor]
    turned = msgspec.structs.replace(
        kind, shape=tuple(kind.shape[dim] for dim in order), contiguous=0
    )
    tensors = (*kernel.tensors[:tensor], turned, *kernel.tensors[tensor + 1 :])

    def access(old: Access) -> Access:
        if old.tensor != tensor:
            return old
        return Access(tensor=tensor, map=tuple(old.map[dim] for dim in order))

    nests = tuple(
        msgspec.structs.replace(
            nest, reads=tuple(map(access, nest.reads)), writes=tuple(map(access, nest.writes))
        )
        for nest in kernel.nests
    )
    return msgspec.structs.replace(kernel, tensors=tensors, nests=nests)


def _orders(kernel: BoundKernel, tensor: int) -> Iterator[tuple[int, ...]]:
    """Orders other than the one it has; none where it is picked by other tensors' values, which
    is the rule gather's business."""
    dims = range(len(kernel.tensors[tensor].shape))
    accesses = (a for nest in kernel.nests for a in (*nest.reads, *nest.writes))
    picked = any(i.indirect for a in accesses if a.tensor == tensor for i in a.map)
    if 2 <= len(dims) <= MOST_DIMS and not picked:
        yield from (order for order in permutations(dims) if order != tuple(dims))


def _moved(kernel: BoundKernel, tiling: Tiling, target: Target) -> dict[int, int]:
    """Bytes on the main memory's wires by global tensor."""
    parts = phases(kernel, tiling, distributed=target.execution == "waves")
    moved: dict[int, int] = {}
    for use in operands(kernel, tiling, target, parts, Residency(kernel, tiling, target, parts)):
        if kernel.tensors[use.access.tensor].is_global:
            bytes = use.bytes * use.times
            moved[use.access.tensor] = moved.get(use.access.tensor, 0) + bytes
    return moved
