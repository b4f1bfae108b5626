"""split_reduction: too few tiles for the cores, and a long reduction to share out.

What it checks: whether a kernel's parallel tiles fill fewer cores than the device has while a
reduction is long; it simulates the reduction cut into parts that run beside each other, followed
by a pass that adds up the parts.
Why it matters: cores without a tile idle, whatever the tile size.
Example: a 33 x 33 result over a reduction of 900,000 is one tile: one core of 304 works.
What to do: `--iree-dispatch-creation-split-reduction-*` flags, or split-K in the library.
Results change in rounding: the order of additions differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import msgspec

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.causes import parallel_tiles
from xpu_shark.passes.advise.ceilings import above_bound_ps
from xpu_shark.simulator import tiling as tilings
from xpu_shark.simulator.bind import Axis, BoundKernel, BoundNest, BoundTensor
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.workload import Access, Contraction, Index, Work

NAME = "split_reduction"
CATEGORY = "xpu-shark.tiling"
LEAST_PART = 256  # iterations of the reduction that one core keeps at least


def ceiling(run: KernelRun, target: Target) -> int:
    return above_bound_ps(run) if target.cores > 1 else 0


def propose(case: Case) -> Iterator[Proposal]:
    """The one nest's reduction in as many parts as fill the cores."""
    kernel, cores = case.kernel, case.target.cores
    if cores == 1 or len(kernel.nests) != 1 or kernel.online:
        return
    tiles = parallel_tiles(case, case.run.plan)
    reductions = [n for n, axis in enumerate(kernel.axes) if not axis.parallel]
    if not reductions or tiles * 2 > cores:
        return
    longest = max(reductions, key=lambda axis: kernel.axes[axis].extent)
    parts = min(cores // tiles, kernel.axes[longest].extent // LEAST_PART)
    if parts < 2:
        return
    launches = split_kernel(kernel, longest, parts)
    yield Proposal(
        condition=f"{tiles} tiles on {cores} cores",
        suggestion=f"split the reduction of {kernel.axes[longest].extent} into {parts} parts",
        launches=tuple((k, tilings.choose(k, case.target, "default")) for k in launches),
        confidence="medium",
    )


def split_kernel(kernel: BoundKernel, axis: int, parts: int) -> tuple[BoundKernel, BoundKernel]:
    """The product of each part, as one more parallel dim, and the pass that adds the parts up."""
    nest = kernel.nests[0]
    dim, part = nest.axes.index(axis), len(nest.extents)
    step = -(-nest.extents[dim] // parts)
    extents = (*(step if d == dim else e for d, e in enumerate(nest.extents)), parts)
    result = nest.writes[0]
    wide = Access(tensor=len(kernel.tensors), map=(_plain(part), *result.map))
    partial = msgspec.structs.replace(
        nest,
        extents=extents,
        parallel=(*nest.parallel, True),
        axes=(*nest.axes, len(kernel.axes)),
        reads=tuple(_parted(access, dim, part, step) for access in nest.reads),
        writes=(wide,),
        contraction=_batched(nest.contraction, part),
        points=prod(extents),
    )
    shape = kernel.tensors[result.tensor].shape
    tensors = (*kernel.tensors, BoundTensor((parts, *shape), "f32", True, 0))
    axes = [Axis(step, False) if n == axis else a for n, a in enumerate(kernel.axes)]
    first = msgspec.structs.replace(
        kernel, tensors=tensors, nests=(partial,), axes=(*axes, Axis(parts, True))
    )
    return first, _adding(first, nest, result.tensor, wide.tensor)


def _adding(kernel: BoundKernel, nest: BoundNest, target: int, source: int) -> BoundKernel:
    parts, *shape = kernel.tensors[source].shape
    every = tuple(_plain(1 + position) for position in range(len(shape)))
    total = msgspec.structs.replace(
        nest,
        name="split_reduction.sum",
        extents=(parts, *shape),
        parallel=(False, *(True for _ in shape)),
        axes=tuple(range(1 + len(shape))),
        reads=(Access(tensor=source, map=(_plain(0), *every)),),
        writes=(Access(tensor=target, map=every),),
        work=(Work(kind="add", element="f32"),),
        contraction=None,
        points=parts * prod(shape),
        tiles=(),
    )
    axes = (Axis(parts, False), *(Axis(size, True) for size in shape))
    return msgspec.structs.replace(kernel, nests=(total,), axes=axes)


def _batched(contraction: Contraction | None, part: int) -> Contraction | None:
    if contraction is None:
        return None
    return msgspec.structs.replace(contraction, batch=(*contraction.batch, part))


def _parted(access: Access, dim: int, part: int, step: int) -> Access:
    """What the reduction dim indexed is now indexed by it and by the part, `step` apart."""

    def index(old: Index) -> Index:
        more = tuple((part, step * factor) for d, factor in old.terms if d == dim)
        return msgspec.structs.replace(old, terms=(*old.terms, *more))

    return Access(tensor=access.tensor, map=tuple(index(old) for old in access.map))


def _plain(dim: int) -> Index:
    return Index(terms=((dim, 1),))
