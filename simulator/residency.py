"""What stays in the memory beside the core and what moves: buffers, spills, cached operands."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from fractions import Fraction
from functools import lru_cache
from math import prod

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.footprint import REMEMBERED, accesses, region
from xpu_shark.simulator.nest_cost import units
from xpu_shark.simulator.plan import Phase, Tiling
from xpu_shark.simulator.reread import missed
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.work import elements
from xpu_shark.simulator.workload import Access

# Of the scratchpad: the most that an operand takes to stay, and that results take which wait for
# their readers, so that the rest can pass.
KEPT_SHARE = 0.75
HELD_SHARE = 0.5


@lru_cache(maxsize=REMEMBERED)
def depends_on(nest: BoundNest, access: Access) -> tuple[object, ...]:
    """What tells two uses of a tensor apart: axes, coefficients and offset of each dimension."""
    return tuple(
        (index.indirect, index.offset, tuple((nest.axes[dim], c) for dim, c in index.terms))
        for index in access.map
    )


@lru_cache(maxsize=REMEMBERED)
def level_of(kernel: BoundKernel, nest: BoundNest, access: Access, loops: tuple[int, ...]) -> int:
    """Number of loops around the place where the operand moves: to the innermost it depends on.

    Each repetition of the whole nest may touch another part of a tensor that is larger.
    """
    axes = {nest.axes[dim] for index in access.map for dim, _ in index.terms}
    whole = prod(kernel.tensors[access.tensor].shape)
    if loops and loops[0] < 0 and elements(kernel, nest, access) < whole:
        axes.add(loops[0])
    return 1 + max((n for n, axis in enumerate(loops) if axis in axes), default=-1)


@lru_cache(maxsize=REMEMBERED)
def produced_before(kernel: BoundKernel, number: int, tensor: int) -> int | None:
    """The last nest before nest `number` that writes `tensor`."""
    for earlier in reversed(range(number)):
        if any(access.tensor == tensor for access in kernel.nests[earlier].writes):
            return earlier
    return None


def capacity(kernel: BoundKernel, target: Target) -> int:
    """Bytes of the memory beside the core that one launch of the kernel has for itself."""
    return max(0, target.memory[-1].bytes - kernel.held)


class Residency:
    """Decides, for one tiling, how deep the buffers are and which local tensors spill. Nests that
    are in none of the `phases` do not execute and need nothing.

    Tiles that change with a loop have `buffers` buffers each, results `result_buffers` (two at
    most): as many as fit beside the local tensors, up to the target's stages. Where even one of
    each does not fit, local tensors go `out` to main memory, largest first. `used` is the resulting
    need in bytes; past `capacity` the tiling does not fit.
    """

    def __init__(
        self, kernel: BoundKernel, tiling: Tiling, target: Target, phases: tuple[Phase, ...]
    ) -> None:
        self.kernel, self.tiling, self.target = kernel, tiling, target
        self.capacity = capacity(kernel, target)
        self._phase = {number: phase for phase in phases for number in phase.nests}
        locals_ = self._local_bytes()
        self.out: set[int] = set()
        fixed, inputs, results = self._operand_bytes()
        kept = sum(locals_.values())
        most = HELD_SHARE * self.capacity if tiling.apart else kept
        for tensor in sorted(locals_, key=lambda t: (-locals_[t], t)):
            need = fixed + inputs + self._beside(results + kept)
            if need <= self.capacity and kept <= most:
                break
            self.out.add(tensor)
            kept -= locals_[tensor]
        if self.out:
            fixed, inputs, results = self._operand_bytes()
        room = self.capacity - fixed
        self.result_buffers = 2 if 2 * inputs + self._beside(2 * results + kept) <= room else 1
        produced = self._beside(self.result_buffers * results + kept)
        left = room - produced
        stages = 1 if tiling.serial else target.dma.stages
        self.buffers = max(1, min(stages, left // inputs if inputs else 2))
        self.used = fixed + self.buffers * inputs + produced

    def _beside(self, produced: int) -> int:
        """What the core itself produces needs this much beside its operands: the part that its
        registers do not hold."""
        return max(0, produced - self.target.register_bytes)

    def moves(self, number: int, access: Access, *, written: bool) -> bool:
        """Whether this operand of nest `number` is transferred from or to main memory."""
        if access.tensor in self.out:
            return self._crosses(number, access, written=written)
        tensor = self.kernel.tensors[access.tensor]
        if not tensor.is_global or tensor.resident:
            return False
        return written or produced_before(self.kernel, number, access.tensor) is None

    def _crosses(self, number: int, access: Access, *, written: bool) -> bool:
        """Whether a tensor that went out passes between phases here: nests of one phase have the
        tile in the core."""
        nests, tensor = self._phase[number].nests, access.tensor
        if not written:
            return produced_before(self.kernel, number, tensor) not in nests
        later = (n for n in nests if n > number)
        return not any(w.tensor == tensor for n in later for w in self.kernel.nests[n].writes)

    def stays(self, number: int) -> bool:
        """Whether nest `number` does no more than to put data to another place beside the core. A
        transfer puts each element that it loads to one place; a broadcast fills the others."""
        nest = self.kernel.nests[number]
        if units(nest, self.target) or not nest.points:
            return False
        both = [(a, self.moves(number, a, written=w), w) for a, w in accesses(nest)]
        inside = [a for a, moved, written in both if written and not moved]
        loaded = sum(elements(self.kernel, nest, a) for a, moved, _ in both if moved)
        if loaded and sum(elements(self.kernel, nest, a) for a in inside) <= loaded:
            return False
        return any(self.kernel.tensors[a.tensor].resident for a, _, _ in both) and not any(
            moved and written for _, moved, written in both
        )

    def cached(self, number: int, access: Access) -> bool:
        """Whether the cache outside the cores keeps all of the operand between its uses."""
        if len(self.target.memory) < 3:
            return False
        tensor = self.kernel.tensors[access.tensor]
        whole = storage_bytes(tensor.element, prod(tensor.shape))
        return whole + self.used * self.target.cores <= self.target.memory[1].bytes

    def missed(self, number: int, access: Access) -> Fraction:
        """Share of the operand's loads that main memory has to serve: all, but where a phase
        before this one has loaded it for the same workgroup and a cache keeps it."""
        again = len(self.target.memory) > 2 and self._loaded_before(number, access)
        return missed(self.kernel, self.tiling, self.target) if again else Fraction(1)

    def _loaded_before(self, number: int, access: Access) -> bool:
        """Whether another phase loads the same, in loops of its own."""
        nest, phase = self.kernel.nests[number], self._phase[number]
        if not level_of(self.kernel, nest, access, phase.inner):
            return False
        key = depends_on(nest, access)
        return any(
            self._phase[n] is not phase
            and other.tensor == access.tensor
            and depends_on(self.kernel.nests[n], other) == key
            for n in range(number)
            if n in self._phase
            for other in self.kernel.nests[n].reads
        )

    def _operand_bytes(self) -> tuple[int, int, int]:
        """Bytes of operands that stay all the time, and of one tile of each that changes with a
        loop: inputs, then results. What is added to a product's result goes straight to the
        registers that hold the result, where there are any."""
        product = any(nest.contraction is not None for nest in self.kernel.nests)
        registers = product and self.target.register_bytes > 0
        fixed: dict[object, int] = {}
        inputs: dict[object, int] = {}
        results: dict[object, int] = {}
        for number, phase in self._phase.items():
            nest = self.kernel.nests[number]
            for access, written in accesses(nest):
                if self.moves(number, access, written=written):
                    level = level_of(self.kernel, nest, access, phase.moving)
                    beside = registers and nest.contraction is None
                    moving = results if written or beside else inputs
                    group = moving if level or self.target.execution == "waves" else fixed
                    key = (access.tensor, written, *depends_on(nest, access))
                    size = self._bytes(nest, access, set(phase.moving[:level]))
                    group[key] = max(group.get(key, 0), size)
        return sum(fixed.values()), sum(inputs.values()), sum(results.values())

    def _local_bytes(self) -> dict[int, int]:
        """Buffer of each local tensor: its tile along loops that producer and reader share."""
        sizes: dict[int, int] = {}
        for number, phase in self._phase.items():
            nest = self.kernel.nests[number]
            for access in nest.reads:
                producer = produced_before(self.kernel, number, access.tensor)
                if producer not in self._phase:
                    continue
                moved, walked = _common(self._phase[producer], phase)
                size = self._bytes(nest, access, moved, walked)
                sizes[access.tensor] = max(sizes.get(access.tensor, 0), size)
        return sizes

    def _bytes(
        self,
        nest: BoundNest,
        access: Access,
        moved: set[int],
        walked: AbstractSet[int] = frozenset(),
    ) -> int:
        """Of the operand inside loops over what transfers bring, and over the tiles of that."""
        tiling, axes = self.tiling, self.kernel.axes
        if self.target.execution == "waves":
            moved = moved.union(tiling.order)
        parts = {axis: tiling.transfer[axis] for axis in moved if axis >= 0}
        parts |= {axis: tiling.tile[axis] for axis in walked}
        wholes = [axes[axis].extent for axis in nest.axes]
        extents = [min(parts.get(a, n), n) for a, n in zip(nest.axes, wholes, strict=True)]
        return region(self.kernel.tensors[access.tensor], access, extents).bytes


def _common(producer: Phase, reader: Phase) -> tuple[set[int], set[int]]:
    """Axes of the loops that both phases are inside of together: those over what transfers bring,
    and those over the tiles of that."""
    if producer is reader:
        return set(producer.moving), {*producer.walk, *producer.walk_inner}
    moved: set[int] = set()
    walked: set[int] = set()
    if reader.apart:
        return moved, walked
    for depth in range(min(len(producer.loops), len(reader.loops))):
        shared = producer.common(depth)
        if shared is None or reader.common(depth) != shared:
            break
        axis, walks = shared
        (walked if walks else moved).add(axis)
    return moved, walked
