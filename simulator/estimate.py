"""A closed-form estimate of a tiling's time: what tilers compare candidates by.

It never reaches a report: the chosen tiling is simulated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import msgspec

from xpu_shark.simulator import apart
from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.footprint import accesses, region
from xpu_shark.simulator.gang import grid
from xpu_shark.simulator.nest_cost import ops
from xpu_shark.simulator.plan import Phase, Tiling, phases
from xpu_shark.simulator.residency import Residency, depends_on, level_of
from xpu_shark.simulator.target import PS_PER_S, Target
from xpu_shark.simulator.traffic import moved
from xpu_shark.simulator.units.cost import PS_PER_NS
from xpu_shark.simulator.units.launch import workgroups_ps
from xpu_shark.simulator.workload import Access


class Estimate(msgspec.Struct, frozen=True):
    """`used` bytes of the innermost memory; the tiling is possible if they are at most
    `capacity`. `time_ps`: the busiest resource, set-up and what the first tile exposes, with
    edge tiles taken for whole ones."""

    time_ps: int
    bytes: int
    used: int
    capacity: int

    @property
    def fits(self) -> bool:
        return self.used <= self.capacity


def estimate(kernel: BoundKernel, tiling: Tiling, target: Target) -> Estimate:
    if target.core is not None:  # caches take any tile
        from xpu_shark.simulator import lower_core

        time, moved = lower_core.estimate(kernel, tiling, target)
        return Estimate(time, moved, 0, target.memory[-1].bytes)
    kernel = apart.recomputing(kernel) if tiling.apart else kernel
    spread = target.execution == "waves"
    parts = phases(kernel, tiling, distributed=spread)
    residency = Residency(kernel, tiling, target, parts)
    if tiling.apart:
        kernel = apart.narrowed(kernel, frozenset(residency.out))
    tiles = _tiles(kernel, tiling) if spread else 1
    rounds = -(-tiles // target.cores) if spread else 1
    compute = {"matrix": 0, "vector": 0}
    for phase, number in _nests(parts):
        nest = kernel.nests[number]
        extents = _extents(kernel, tiling.tile, tiling, nest, phase.loops, spread)
        count = _turns(kernel, tiling, phase.moving, 1) * _walks(kernel, tiling, phase)
        for op in ops(kernel, nest, target, extents):
            compute[op.unit] += op.cost.service_ps * count * nest.trips * rounds
    flow = _traffic(kernel, tiling, target, parts, residency, spread)
    setup = int(target.dma.setup_ns * PS_PER_NS)
    hops = [_at(flow.moved, target.memory[0].bytes_per_s)]
    for level in target.memory[1:-1]:
        own = _at(flow.drawn * rounds // max(tiles, 1), level.core_bytes_per_s)
        hops.append(max(_at(flow.drawn, level.bytes_per_s), own))
    memory = max(hops) + setup * flow.transfers
    first = _at(flow.exposed, target.memory[0].bytes_per_s) + setup
    busiest = max(memory, workgroups_ps(target, tiles if spread else 0), *compute.values())
    if residency.buffers == 1:  # a lone buffer is loaded and worked on in turns
        busiest = memory + sum(compute.values())
    # What the first load and the last store expose is at most what they could hide behind.
    exposed = min(first, memory, sum(compute.values()))
    return Estimate(busiest + exposed, flow.moved, residency.used, residency.capacity)


class _Flow(msgspec.Struct):
    """Bytes over the outermost memory, drawn by all cores, of one tile of every operand; and the
    transfers that one core starts."""

    moved: int = 0
    drawn: int = 0
    exposed: int = 0
    transfers: int = 0


def _at(bytes: int, bytes_per_s: float | None) -> int:
    return int(bytes * PS_PER_S / bytes_per_s) if bytes_per_s else 0


def _traffic(
    kernel: BoundKernel,
    tiling: Tiling,
    target: Target,
    parts: tuple[Phase, ...],
    residency: Residency,
    spread: bool,
) -> _Flow:
    tiles = _tiles(kernel, tiling) if spread else 1
    flow = _Flow()
    rounds = -(-tiles // target.cores)
    for operand in operands(kernel, tiling, target, parts, residency):
        flow.transfers += operand.turns * rounds
        flow.drawn += operand.bytes * operand.turns * tiles
        flow.moved += operand.bytes * operand.times
        flow.exposed += operand.bytes * (min(tiles, target.cores) if spread else 1)
    return flow


class Operand(msgspec.Struct):
    """What one use of a tensor by nest `nest` moves inside `loops`: tiles of `bytes` on the main
    memory's wires for `own` bytes of the tensor, `turns` of them for each core's tile, `times` in
    all from main memory."""

    nest: int
    access: Access
    loops: tuple[int, ...]
    written: bool
    bytes: int
    own: int
    turns: int
    times: int


def operands(
    kernel: BoundKernel,
    tiling: Tiling,
    target: Target,
    parts: tuple[Phase, ...],
    residency: Residency,
) -> Iterator[Operand]:
    """Every operand that moves, once where several nests of a phase share it."""
    spread = target.execution == "waves"
    lattice = grid(kernel, tiling, target.cores) if spread else None
    tiles = _tiles(kernel, tiling) if spread else 1
    seen: set[object] = set()
    for phase, number in _nests(parts):
        nest = kernel.nests[number]
        for access, written in accesses(nest):
            if not residency.moves(number, access, written=written):
                continue
            level = level_of(kernel, nest, access, phase.moving)
            loops = phase.moving[:level]
            shared = len(phase.moving) - len(phase.inner)
            own = phase.nests if level > shared else ()  # loops of its own: loaded anew
            key = (access.tensor, written, *depends_on(nest, access), loops, own)
            if key in seen:
                continue
            seen.add(key)
            extents = _extents(kernel, tiling.transfer, tiling, nest, loops, spread)
            part = region(kernel.tensors[access.tensor], access, extents)
            turns = _turns(kernel, tiling, loops, nest.trips)
            times = turns * tiles
            if lattice is not None and not written and len(target.memory) > 2:
                axes = {nest.axes[dim] for index in access.map for dim, _ in index.terms}
                fresh = lattice.shared(axes, residency.cached(number, access))
                fresh *= residency.missed(number, access)
                times = -(-times * fresh.numerator // fresh.denominator)
            wired = moved(target.memory[0], part)
            yield Operand(number, access, loops, written, wired, part.bytes, turns, times)


def _nests(parts: tuple[Phase, ...]) -> Iterator[tuple[Phase, int]]:
    for phase in parts:
        for number in phase.nests:
            yield phase, number


def _extents(
    kernel: BoundKernel,
    sizes: Sequence[int],
    tiling: Tiling,
    nest: BoundNest,
    loops: tuple[int, ...],
    spread: bool,
) -> list[int]:
    """Extent of each of the nest's dims inside `loops` over parts of `sizes`."""
    inside = set(loops) | (set(tiling.order) if spread else set())
    return [
        min(sizes[axis], kernel.axes[axis].extent) if axis in inside else extent
        for axis, extent in zip(nest.axes, nest.extents, strict=True)
    ]


def _turns(kernel: BoundKernel, tiling: Tiling, loops: tuple[int, ...], trips: int) -> int:
    """How often `loops` over what transfers bring turn."""
    count = 1
    for axis in loops:
        count *= trips if axis < 0 else -(-kernel.axes[axis].extent // tiling.transfer[axis])
    return count


def _walks(kernel: BoundKernel, tiling: Tiling, phase: Phase) -> int:
    """Tiles in what a transfer brings."""
    return prod(
        -(-min(tiling.transfer[axis], kernel.axes[axis].extent) // tiling.tile[axis])
        for axis in (*phase.walk, *phase.walk_inner)
    )


def _tiles(kernel: BoundKernel, tiling: Tiling) -> int:
    return prod(-(-kernel.axes[axis].extent // tiling.tile[axis]) for axis in tiling.order)
