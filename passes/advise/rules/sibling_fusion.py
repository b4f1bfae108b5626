"""sibling_fusion: products of one operand are dispatches of their own.

What it checks: whether products that share their left or right operand, none of which waits for
another dispatch, are faster as one. It simulates one kernel with all of them in the same loops,
and, where they differ in nothing but their number of columns and need nothing of each other, one
wide product of the weights side by side, with a copy for each result that is returned or that
another command than a dispatch takes. What one of them reads of another element by element, as an
activation that multiplies, stays in the core.
Why it matters: each loads the operand again, pays for its launch and fills the cores alone; narrow
products fill few of them. Past the ridge of every memory level no load is waited for, and nothing
is advised.
Example: query, key and value of the same tokens; the gate and the up projection of a feed-forward
layer, where the activation multiplies both.
What to do: concatenate the weights and slice the result, or form one dispatch of the group that
the remark names. `--xpu-effort=high` tries IREE's own flag for it,
`--iree-dispatch-creation-enable-fuse-horizontal-contractions`, and says so where it works: the
rule `fusion` reports the group then instead of this one. Results stay bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import msgspec

from xpu_shark.passes.advise.dataflow import Change, Dataflow, Place
from xpu_shark.passes.advise.joined import joined, products_first
from xpu_shark.passes.advise.shrink import resized
from xpu_shark.simulator.bind import Axis, BoundKernel, BoundNest
from xpu_shark.simulator.nest_cost import matrix_element
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.workload import Access, Index

NAME = "sibling_fusion"
CATEGORY = "xpu-shark.fusion"
replace = msgspec.structs.replace


def propose(flow: Dataflow, target: Target) -> Iterator[Change]:
    """For each operand of several products these as one kernel, and as one wide product."""
    for readers in flow.together():
        group = _group(flow, readers, target)
        alike: dict[object, list[Place]] = {}
        for step, tensor in group:
            alike.setdefault(_kernel(flow, step).nests[0].extents, []).append((step, tensor))
        for part in (group, *(alike.values() if len(alike) > 1 else ())):
            if len(part) > 1:
                yield from _changes(flow, part)


def _changes(flow: Dataflow, group: Sequence[Place]) -> Iterator[Change]:
    steps = tuple(step for step, _ in group)
    kernels = [_kernel(flow, step) for step in steps]
    names = " + ".join(_counted([kernel.name for kernel in kernels]))
    operand = kernels[0].tensors[group[0][1]]
    size = "x".join(map(str, (*operand.shape, operand.element)))
    condition = f"{len(group)} dispatches that read the same {size}, {names}"
    whole = _one(flow, group, kernels)
    if whole is not None:
        yield Change(steps, (whole,), condition, f"one dispatch for these {len(group)} products")
    wide = _side_by_side(kernels, [tensor for _, tensor in group])
    if wide is not None and not any(flow.before[a] >> b & 1 for a in steps for b in steps):
        kernel, columns = wide
        suggestion = f"one product with the weights side by side ({columns} columns), sliced"
        yield Change(steps, (kernel, *_slices(flow, steps)), condition, suggestion)


def _group(flow: Dataflow, readers: Sequence[Place], target: Target) -> list[Place]:
    """Those of the readers that multiply the tensor, from the first on as many as can be one."""
    group: list[Place] = []
    for step, tensor in readers:
        if any(step == other for other, _ in group):
            continue
        if _multiplies(_kernel(flow, step), tensor, target):
            others = [other for other, _ in group]
            if flow.convex([*others, step]) and not _waits(flow, step, others):
                group.append((step, tensor))
    return group


def _waits(flow: Dataflow, step: int, others: Sequence[int]) -> bool:
    """Whether the kernel needs more of another's result than the element that it is at: what it
    sums up, or what passes in another way than from one to the other."""
    needed = {other for other in others if flow.before[step] >> other & 1}
    for maker, places in flow.readers.items():
        taken = {tensor for reader, tensor in places if reader == step}
        if maker[0] in needed and taken:
            needed.remove(maker[0])
            summing = (nest for nest in _kernel(flow, step).nests if not all(nest.parallel))
            if any(read.tensor in taken for nest in summing for read in nest.reads):
                return True
    return bool(needed)


def _slices(flow: Dataflow, steps: Sequence[int]) -> Iterator[BoundKernel]:
    """A copy of each result that somebody else than a dispatch takes: dispatches load a slice of
    the wide result from where it is."""
    for step in steps:
        kernel = _kernel(flow, step)
        for touch in flow.steps[step].touches or ():
            place = (step, touch.tensor)
            if touch.written and not (flow.private(place) and flow.readers.get(place)):
                yield _copied(kernel, touch.tensor)


def _copied(kernel: BoundKernel, number: int) -> BoundKernel:
    """A dispatch that only moves the tensor."""
    tensor = kernel.tensors[number]
    here = tuple(Index(terms=((dim, 1),)) for dim in range(len(tensor.shape)))
    nest = replace(
        kernel.nests[0],
        name="slice",
        extents=tensor.shape,
        parallel=(True,) * len(tensor.shape),
        axes=tuple(range(len(tensor.shape))),
        reads=(Access(tensor=0, map=here),),
        writes=(Access(tensor=1, map=here),),
        work=(),
        contraction=None,
        points=prod(tensor.shape),
        trips=1,
        tiles=(),
        config="",
        pinned=False,
    )
    axes = tuple(Axis(size, True) for size in tensor.shape)
    return replace(kernel, name="slice", tensors=(tensor, tensor), nests=(nest,), axes=axes)


def _kernel(flow: Dataflow, step: int) -> BoundKernel:
    kernel = flow.steps[step].kernel
    assert kernel is not None
    return kernel


def _multiplies(kernel: BoundKernel, tensor: int, target: Target) -> bool:
    """Whether the kernel is a product of the tensor, with what follows it."""
    nest = kernel.nests[0]
    if kernel.online or matrix_element(target, nest.contraction) is None:
        return False
    return tensor in _factors(nest) and nest.trips == 1


def _factors(nest: BoundNest) -> tuple[int, int]:
    assert nest.contraction is not None
    lhs, rhs = (nest.reads[n].tensor for n in (nest.contraction.lhs, nest.contraction.rhs))
    return lhs, rhs


def _one(
    flow: Dataflow, group: Sequence[Place], kernels: Sequence[BoundKernel]
) -> BoundKernel | None:
    """All products in the same loops where they are of one size. What passes between them, and
    what others of their operands are the same data, is one tensor too."""
    steps = [step for step, _ in group]
    same = [((0, group[0][1]), (n, tensor)) for n, (_, tensor) in enumerate(group) if n]
    inside = []
    for maker, places in flow.readers.items():
        within = [(steps.index(step), tensor) for step, tensor in places if step in steps]
        if maker[0] in steps and within:
            made = (steps.index(maker[0]), maker[1])
            same += [(made, place) for place in within]
            if flow.private(maker) and len(within) == len(places):
                inside.append(made)
    ties = [pair for n in range(1, len(kernels)) for pair in _ties(kernels, n)]
    whole = joined(kernels, same, inside, ties)
    return None if whole is None else products_first(whole)


def _ties(
    kernels: Sequence[BoundKernel], number: int
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The axes of the first product and another one, in the same roles."""
    one, other = kernels[0].nests[0], kernels[number].nests[0]
    assert one.contraction is not None
    assert other.contraction is not None
    pairs = []
    for role in ("batch", "m", "n", "k"):
        for a, b in zip(
            getattr(one.contraction, role), getattr(other.contraction, role), strict=False
        ):
            pairs.append(((0, one.axes[a]), (number, other.axes[b])))
    return pairs


def _counted(names: Sequence[str]) -> list[str]:
    """Each name once, with how often where that is more."""
    return [
        name if names.count(name) == 1 else f"{names.count(name)} of {name}"
        for name in dict.fromkeys(names)
    ]


def _side_by_side(
    kernels: Sequence[BoundKernel], shared: Sequence[int]
) -> tuple[BoundKernel, int] | None:
    """The first kernel with as many columns as all have together, and how many, where they are
    alike but for the extent of one axis that does not walk the shared operand."""
    first = kernels[0]
    roles = first.nests[0].contraction
    assert roles is not None
    lhs, _ = _factors(first.nests[0])
    free = roles.n if shared[0] == lhs else roles.m
    if len(set(shared)) != 1:
        return None
    for dim in free:
        axis = first.nests[0].axes[dim]
        if all(_alike(first, kernel, axis) for kernel in kernels):
            kernel = resized(
                _untiled(first), axis, sum(kernel.axes[axis].extent for kernel in kernels)
            )
            return kernel, prod(kernel.nests[0].extents[each] for each in free)
    return None


def _alike(one: BoundKernel, other: BoundKernel, axis: int) -> bool:
    """Whether two kernels are the same but for the extent of an axis, names, places and tiles."""
    if axis >= len(other.axes):
        return False
    sized = resized(_untiled(other), axis, one.axes[axis].extent)
    plain = [
        replace(
            each,
            name="",
            tensors=tuple(replace(t, contiguous=0, resident=False) for t in each.tensors),
            nests=tuple(replace(nest, name="", location="") for nest in each.nests),
            held=0,
            running=False,
        )
        for each in (_untiled(one), sized)
    ]
    return plain[0] == plain[1]


def _untiled(kernel: BoundKernel) -> BoundKernel:
    nests = tuple(replace(nest, tiles=(), config="", pinned=False) for nest in kernel.nests)
    return replace(kernel, nests=nests)
