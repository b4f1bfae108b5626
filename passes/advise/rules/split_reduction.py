"""split_reduction: too few tiles for the cores, and a long reduction to share out.

What it checks: whether a kernel's parallel tiles fill fewer cores than the device has while a
reduction is long; it simulates the reduction cut into parts that run beside each other, and a
second launch that adds up the parts and does what the dispatch did with the whole result.
Why it matters: cores without a tile idle, whatever the tile size.
Example: a 33 x 33 result over a reduction of 900,000 is one tile: one core of 304 works.
What to do: `iree_linalg_ext.split_reduction`, as the remark gives it, in the attributes of the op
that reduces: IREE then splits that op alone. It goes on an op of linalg; others become one in what
`iree-compile --compile-to=input` writes and `--compile-from=input` reads. Its list has one size for
each loop that the op reduces over; the remark gives it for one. A matmul in equal parts may have
the flag that the remark gives instead: it splits every matmul of the program whose reduction
divides by it, and is given where there is no other one. Where the remark gives neither, IREE has
no way to split that op alone; `--iree-dispatch-creation-enable-split-reduction` has sizes of its
own for all. In a library: split-K.
Results change in rounding: the order of additions differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt, prod
from typing import TypeVar

import msgspec

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.causes import parallel_tiles
from xpu_shark.passes.advise.ceilings import above_bound_ps
from xpu_shark.simulator import tiling as tilings
from xpu_shark.simulator.bind import Axis, BoundKernel, BoundNest, BoundTensor
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.workload import Access, Contraction, Index, Kernel, Nest, Work

NAME = "split_reduction"
CATEGORY = "xpu-shark.tiling"
FLAG = "--iree-dispatch-creation-split-matmul-reduction"
ATTRIBUTE = "iree_linalg_ext.split_reduction"
LEAST_PART = 256  # iterations of the reduction that one core keeps at least


def ceiling(run: KernelRun, target: Target) -> int:
    return above_bound_ps(run) if target.cores > 1 else 0


def propose(case: Case) -> Iterator[Proposal]:
    """The one long reduction in as many parts as fill the cores."""
    kernel, cores = case.kernel, case.target.cores
    place = _reducing(kernel)
    if cores == 1 or place is None:
        return
    tiles = parallel_tiles(case, case.run.plan)
    if tiles * 2 > cores:
        return
    nest = kernel.nests[place]
    free = zip(nest.axes, nest.extents, nest.parallel, strict=True)
    extent, longest = max((extent, -axis) for axis, extent, parallel in free if not parallel)
    parts = _parts(extent, min(cores // tiles, extent // LEAST_PART))
    if parts < 2:
        return
    how = _how(case, nest, extent, parts)
    launches = split_kernel(kernel, -longest, parts, last=ATTRIBUTE in how)
    yield Proposal(
        condition=f"{tiles} tiles on {cores} cores",
        suggestion=f"split the reduction of {extent} into {parts} parts{how}",
        launches=tuple((k, tilings.choose(k, case.target, "default")) for k in launches),
        confidence="medium",
    )


def _reducing(kernel: BoundKernel) -> int | None:
    """The only nest that reduces, if no other one has the loops that it reduces over."""
    found = [number for number, nest in enumerate(kernel.nests) if not all(nest.parallel)]
    if len(found) != 1 or kernel.online:
        return None
    nest = kernel.nests[found[0]]
    own = {a for a, free in zip(nest.axes, nest.parallel, strict=True) if not free}
    others = (other for other in kernel.nests if other is not nest)
    return None if any(own & {*other.axes} for other in others) else found[0]


def _parts(extent: int, most: int) -> int:
    """Equal parts where there are more than half as many as could be, else as many as can be."""
    small = [n for n in range(1, isqrt(extent) + 1) if not extent % n]
    even = max((n for n in (*small, *(extent // n for n in small)) if n <= most), default=1)
    return even if 2 * even > most else most


def _how(case: Case, nest: BoundNest, extent: int, parts: int) -> str:
    """What makes IREE split this reduction and no other one; empty where nothing does."""
    others = [kernel for kernel in case.kernels if kernel.name != case.kernel.name]
    if _is_matmul(nest) and not extent % parts:
        if not any(_may_split(kernel, parts) for kernel in others):
            return f" ({FLAG}={parts})"
    # IREE 3.13 refuses the attribute on an op of two results, and loses it where it fuses what
    # makes the operand into the op; it splits no convolution.
    if _fused(nest) or sum(not free for free in nest.parallel) > 1 or len(nest.writes) > 1:
        return ""
    # IREE makes one loop of several that a reduction has; those of a product stay as they are.
    one = "" if nest.contraction else ", if that reduces over one loop"
    return f" ({ATTRIBUTE} = [{-(-extent // parts)} : index] on its linalg op{one})"


def _fused(nest: BoundNest) -> bool:
    """Whether a reduction does more than to reduce, other than as an op with a name of its own."""
    kinds = [work.kind for work in nest.work]
    return nest.name == "generic" and nest.contraction is None and kinds not in (["add"], ["max"])


def _may_split(kernel: Kernel, parts: int) -> bool:
    """Whether the flag splits, or may split, an op of another kernel."""
    if kernel.state == "unmodelled":
        return True
    depths = (
        nest.dims[nest.contraction.k[0]].extent
        for nest in kernel.nests
        if nest.contraction is not None and _is_matmul(nest)
    )
    return any(not isinstance(depth, int) or not depth % parts for depth in depths)


def _is_matmul(nest: BoundNest | Nest) -> bool:
    """Rows times columns and nothing else: what the flag splits."""
    dims = nest.contraction
    if dims is None or any(work.kind != "madd" for work in nest.work):
        return False
    roles = (dims.batch, dims.m, dims.n, dims.k)
    return dims.lhs_element == dims.rhs_element and list(map(len, roles)) == [0, 1, 1, 1]


def split_kernel(
    kernel: BoundKernel, axis: int, parts: int, *, last: bool = False
) -> tuple[BoundKernel, BoundKernel]:
    """The dispatch up to the reduction, each part of it as one more parallel dim, and the pass
    that adds the parts up and goes on from there. With `last`, as IREE has it for its attribute,
    the parts of one sum lie side by side, else the sums of one part.
    """
    place = _reducing(kernel)
    assert place is not None
    nest = _with_outer_loop(kernel.nests[place], len(kernel.axes))
    dim = nest.axes.index(axis)
    step = -(-nest.extents[dim] // parts)
    extents = (parts, *(step if d == dim else e for d, e in enumerate(nest.extents) if d))
    result = nest.writes[0]
    partial = msgspec.structs.replace(
        nest,
        extents=extents,
        reads=tuple(_parted(access, dim, step) for access in nest.reads),
        writes=(Access(tensor=len(kernel.tensors), map=_with(result.map, _plain(0), last=last)),),
        points=prod(extents),
    )
    shape = kernel.tensors[result.tensor].shape
    partials = BoundTensor(_with(shape, parts, last=last), "f32", True, 0)
    tensors = (*kernel.tensors, partials)
    axes = [Axis(step, False) if n == axis else a for n, a in enumerate(kernel.axes)]
    before = (*kernel.nests[:place], partial)
    first = msgspec.structs.replace(
        kernel, tensors=_global(tensors, before), nests=before, axes=(*axes, Axis(parts, True))
    )
    return _used(first), _adding(kernel, place, tensors, parts, last=last)


Item = TypeVar("Item")


def _with(row: tuple[Item, ...], item: Item, *, last: bool) -> tuple[Item, ...]:
    return (*row, item) if last else (item, *row)


def _adding(
    kernel: BoundKernel, place: int, tensors: tuple[BoundTensor, ...], parts: int, *, last: bool
) -> BoundKernel:
    """The parts added up, and the nests behind the reduction."""
    nest = kernel.nests[place]
    result = nest.writes[0]
    shape = kernel.tensors[result.tensor].shape
    every = tuple(_plain(1 + position) for position in range(len(shape)))
    count = len(kernel.axes)
    total = msgspec.structs.replace(
        nest,
        name="split_reduction.sum",
        extents=(parts, *shape),
        parallel=(False, *(True for _ in shape)),
        axes=(count, *_walked(nest, result, count + 1)),
        reads=(Access(tensor=len(tensors) - 1, map=_with(every, _plain(0), last=last)),),
        writes=(Access(tensor=result.tensor, map=every),),
        work=(Work(kind="add", element="f32"),),
        contraction=None,
        points=parts * prod(shape),
        tiles=(),
    )
    axes = (*kernel.axes, Axis(parts, False), *(Axis(size, True) for size in shape))
    rest = (total, *kernel.nests[place + 1 :])
    return _used(
        msgspec.structs.replace(kernel, tensors=_global(tensors, rest), nests=rest, axes=axes)
    )


def _walked(nest: BoundNest, result: Access, new: int) -> Iterator[int]:
    """The axis of each dimension of the result: `new` and the numbers behind it where it is not
    one loop's alone."""
    for position, index in enumerate(result.map):
        plain = not index.indirect and not index.offset and len(index.terms) == 1
        single = plain and index.terms[0][1] == 1
        yield nest.axes[index.terms[0][0]] if single else new + position


def _global(
    tensors: tuple[BoundTensor, ...], nests: tuple[BoundNest, ...]
) -> tuple[BoundTensor, ...]:
    """Transient tensors that `nests` do not make themselves, or only make, are in main memory."""
    made, used = (
        {access.tensor for nest in nests for access in getattr(nest, side)}
        for side in ("writes", "reads")
    )
    return tuple(
        msgspec.structs.replace(tensor, is_global=tensor.is_global or (n in made) != (n in used))
        for n, tensor in enumerate(tensors)
    )


def _used(kernel: BoundKernel) -> BoundKernel:
    """The kernel without the axes that no nest has."""
    kept = sorted({axis for nest in kernel.nests for axis in nest.axes})
    number = {axis: place for place, axis in enumerate(kept)}
    nests = tuple(
        msgspec.structs.replace(nest, axes=tuple(number[axis] for axis in nest.axes))
        for nest in kernel.nests
    )
    axes = tuple(kernel.axes[axis] for axis in kept)
    return msgspec.structs.replace(kernel, nests=nests, axes=axes)


def _with_outer_loop(nest: BoundNest, axis: int) -> BoundNest:
    """The nest inside one more parallel loop, of one turn, that nothing depends on yet."""

    def moved(access: Access) -> Access:
        terms = [tuple((d + 1, factor) for d, factor in index.terms) for index in access.map]
        pairs = zip(access.map, terms, strict=True)
        return Access(
            tensor=access.tensor,
            map=tuple(msgspec.structs.replace(index, terms=new) for index, new in pairs),
        )

    return msgspec.structs.replace(
        nest,
        extents=(1, *nest.extents),
        parallel=(True, *nest.parallel),
        axes=(axis, *nest.axes),
        reads=tuple(map(moved, nest.reads)),
        writes=tuple(map(moved, nest.writes)),
        work=tuple(work.inside(1) for work in nest.work),
        contraction=_batched(nest.contraction),
        tiles=(),
    )


def _batched(contraction: Contraction | None) -> Contraction | None:
    if contraction is None:
        return None
    roles = ("batch", "m", "n", "k")
    moved = {role: tuple(dim + 1 for dim in getattr(contraction, role)) for role in roles}
    return msgspec.structs.replace(contraction, **moved | {"batch": (0, *moved["batch"])})


def _parted(access: Access, dim: int, step: int) -> Access:
    """What the reduction dim indexed is now indexed by it and by the part, `step` apart."""

    def index(old: Index) -> Index:
        more = tuple((0, step * factor) for d, factor in old.terms if d == dim)
        return msgspec.structs.replace(old, terms=(*old.terms, *more))

    return Access(tensor=access.tensor, map=tuple(index(old) for old in access.map))


def _plain(dim: int) -> Index:
    return Index(terms=((dim, 1),))
