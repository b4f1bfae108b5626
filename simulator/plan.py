"""From a bound kernel and tile sizes to phases: what runs inside which loops, in which order.

A *phase* is one or more nests with the same loops. Loops over parallel axes come first, in the
tiling's order; consecutive phases that loop over the same axis share that loop, so that a
bias add runs on the matmul's tile while it is still in the core. Loops over reduction axes are a
phase's own. An axis whose tile is its whole extent has no loop. Where more is moved at a time than
is worked on at once, loops over the one are around loops over the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.workload import Access


class Tiling(msgspec.Struct, frozen=True):
    """`tile[a]`: iterations of axis a a core holds at once; `order`: parallel axes as looped,
    outermost first. `source` says who chose it: "ir", "default" or "best". With `apart` every
    product and every reduction walks over all of its data before the next one starts, as where a
    compiler has no fused kernel (`apart.py`). `moved[a]`: iterations of axis a that a transfer
    brings, where those are more than the core works on at once; tiles inside are whole ones, what
    hangs over an edge is worked on as well. With `serial` blocks of a fused attention wait for each
    other: what the next needs is loaded, and worked on, when this one is done."""

    tile: tuple[int, ...]
    order: tuple[int, ...]
    source: str = "default"
    apart: bool = False
    moved: tuple[int, ...] | None = None
    serial: bool = False

    @property
    def transfer(self) -> tuple[int, ...]:
        """Iterations of each axis that a transfer brings."""
        return self.tile if self.moved is None else self.moved

    @property
    def plain(self) -> bool:
        """Whether tile and order say all there is to it, as where a search made it."""
        return not (self.apart or self.serial or self.transfer != self.tile)


MOST_EDGES = 7  # axes with an edge tile: code doubles with each


class Phase(msgspec.Struct, frozen=True):
    """`nests` are indices into the kernel's; `outer` and `inner` are axes with a loop over what
    transfers bring, `walk` and `walk_inner` such with one over the tiles of that."""

    nests: tuple[int, ...]
    outer: tuple[int, ...]
    inner: tuple[int, ...]
    trips: int
    apart: bool = False
    walk: tuple[int, ...] = ()
    walk_inner: tuple[int, ...] = ()

    @property
    def loops(self) -> tuple[int, ...]:
        """All loops, outermost first."""
        return (*self.moving, *self.walk, *self.walk_inner)

    @property
    def moving(self) -> tuple[int, ...]:
        """Loops that operands move in; a repetition of the whole phase is axis -1 - its nest."""
        repeat = (-1 - self.nests[0],) if self.trips != 1 else ()
        return (*repeat, *self.outer, *self.inner)

    def common(self, depth: int) -> tuple[int, bool] | None:
        """The loop at `depth` as phases may share it: its axis, and whether it walks over the tiles
        of what has been moved. None for a phase's own."""
        axis, walks = self.loops[depth], depth >= len(self.moving)
        return (axis, walks) if axis in (self.walk if walks else self.outer) else None


def few_edges(kernel: BoundKernel, tiling: Tiling) -> Tiling:
    """`tiling` with edge tiles along `MOST_EDGES` axes at most, the longest ones.

    Every combination of whole and edge tiles is code of its own, and short loops in each other
    have no period. Past the limit an axis is not cut at all; no kernel of a model comes near it.
    """
    sizes = list(tiling.transfer)
    axes = [axis for axis, size in enumerate(sizes) if kernel.axes[axis].extent % max(size, 1)]
    axes.sort(key=lambda axis: (-kernel.axes[axis].extent, axis))
    if not axes[MOST_EDGES:]:
        return tiling
    for axis in axes[MOST_EDGES:]:
        sizes[axis] = kernel.axes[axis].extent
    cut = "tile" if tiling.moved is None else "moved"
    return msgspec.structs.replace(tiling, **{cut: tuple(sizes)})


def phases(kernel: BoundKernel, tiling: Tiling, *, distributed: bool = False) -> tuple[Phase, ...]:
    """Phases in program order. `distributed`: cores share out the tiles, so there is no loop
    over the parallel axes in a core's code. Nests that never execute are left out."""
    result: list[Phase] = []
    for number, nest in enumerate(kernel.nests):
        if not nest.points * nest.trips:
            continue
        extents = [axis.extent for axis in kernel.axes]
        outer, inner = _loops(nest, tiling, tiling.transfer, extents)
        walk, walk_inner = _loops(nest, tiling, tiling.tile, tiling.transfer)
        if distributed:
            outer = ()
        phase = Phase((number,), outer, inner, nest.trips, tiling.apart, walk, walk_inner)
        if result and _joins(kernel, result[-1], phase):
            nests = (*result[-1].nests, number)
            result[-1] = msgspec.structs.replace(result[-1], nests=nests)
        else:
            result.append(phase)
    return tuple(result)


def can_share(kernel: BoundKernel, before: tuple[Phase, ...], phase: Phase, axis: int) -> bool:
    """Whether `phase` may run in the same iteration of `axis` as the phases before it.

    Not where it reads a local tensor that they write and index along another axis: then it
    needs results of other iterations.
    """
    nests = [kernel.nests[number] for part in before for number in part.nests]
    for consumer in (kernel.nests[number] for number in phase.nests):
        for read in consumer.reads:
            for producer in nests:
                for write in producer.writes:
                    if write.tensor != read.tensor or kernel.tensors[read.tensor].is_global:
                        continue
                    if positions(producer, write, axis) != positions(consumer, read, axis):
                        return False
    return True


def positions(nest: BoundNest, access: Access, axis: int) -> tuple[int, ...]:
    """Tensor dimensions that `access` indexes by `axis`; negative where not by it alone."""
    found = []
    for position, index in enumerate(access.map):
        terms = index.terms
        if not index.indirect and len(terms) == 1 and terms[0][1] == 1:
            if nest.axes[terms[0][0]] == axis:
                found.append(position)
        elif any(nest.axes[dim] == axis for dim, _ in terms):
            found.append(-1 - position)
    return tuple(found)


def _loops(
    nest: BoundNest, tiling: Tiling, part: Sequence[int], whole: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Axes with loops over parts of what is whole: in the tiling's order, then the nest's own."""
    looped = [axis for axis in nest.axes if part[axis] < whole[axis]]
    outer = tuple(axis for axis in tiling.order if axis in looped)
    return outer, tuple(axis for axis in looped if axis not in outer)


def _joins(kernel: BoundKernel, before: Phase, phase: Phase) -> bool:
    """A nest joins the phase before it if they loop alike and it needs no finished reduction."""
    if (before.outer, before.walk, before.trips) != (phase.outer, phase.walk, phase.trips):
        return False
    if any(
        set(own) != set(other)
        for own, other in ((before.inner, phase.inner), (before.walk_inner, phase.walk_inner))
    ):
        return False
    if phase.apart and not all(kernel.nests[phase.nests[0]].parallel):
        return False
    if kernel.online and not phase.apart:
        return True
    loops = (*phase.outer, *phase.inner, *phase.walk, *phase.walk_inner)
    if not all(can_share(kernel, (before,), phase, axis) for axis in loops):
        return False
    return not _reads_reduction(kernel, before, phase)


def _reads_reduction(kernel: BoundKernel, before: Phase, phase: Phase) -> bool:
    """Whether the phase reads what the one before reduces over a loop that both have."""
    read = {access.tensor for number in phase.nests for access in kernel.nests[number].reads}
    for number in before.nests:
        producer = kernel.nests[number]
        if read & {access.tensor for access in producer.writes}:
            pairs = zip(producer.axes, producer.parallel, strict=True)
            if {axis for axis, free in pairs if not free} & {*phase.inner, *phase.walk_inner}:
                return True
    return False
