"""What the caches and the memory of a CPU deliver in one launch, from reuse distances.

A line is *foreseen* where the operand is walked line after line: prefetchers fetch it in time, and
it costs bandwidth. Any other line holds the core up for a while. Main memory is where results
go and where foreseen operands come from: the launches between have taken the caches. What is
fetched out of order is taken for resident in the last cache if it needs less than `RESIDENT` of it.
"""

from __future__ import annotations

from math import prod

import msgspec

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.core_cost import vector_tile
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.footprint import accesses
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.residency import depends_on
from xpu_shark.simulator.reuse_distance import Cache, Loop, misses, pressure, touched
from xpu_shark.simulator.target import Memory, Target
from xpu_shark.simulator.units.cost import PS_PER_NS
from xpu_shark.simulator.workload import Access

RESIDENT = 0.25  # of the last cache: what one operand does not keep between launches

ALLOCATED = 2  # a line that is written is read first, as caches allocate on a write


class Traffic(msgspec.Struct):
    """By level: `bytes` of foreseen lines, `held_bytes` of the others, and the picoseconds of one
    core that these take, `waits_ps`."""

    bytes: dict[str, int]
    held_bytes: dict[str, int]
    waits_ps: float = 0.0


class _Operand(msgspec.Struct, frozen=True):
    """One access of a nest, the loops around its register tile, where it is at first, and how often
    each of its lines goes to or from there."""

    nest: BoundNest
    access: Access
    loops: tuple[Loop, ...]
    foreseen: bool
    home: int
    ways: int


def traffic(kernel: BoundKernel, tiling: Tiling, target: Target) -> Traffic:
    """Of all cores in one launch; what the nearest cache has costs only its loads."""
    flow = Traffic({}, {})
    seen: set[int] = set()
    for nest in kernel.nests:
        loops = _loops(kernel, nest, tiling)
        parts = {(a.tensor, *depends_on(nest, a)): (a, written) for a, written in accesses(nest)}
        for access, written in parts.values():
            if not kernel.tensors[access.tensor].is_global or not nest.points:
                continue
            if access.tensor in seen and _kept(kernel, nest, access, loops, target):
                continue
            seen.add(access.tensor)
            foreseen = _foreseen(kernel, nest, access, loops, target)
            home = 0 if written or foreseen else _home(kernel, access, target)
            ways = ALLOCATED if written else 1
            _add(flow, kernel, _Operand(nest, access, loops, foreseen, home, ways), target)
    return flow


def _add(flow: Traffic, kernel: BoundKernel, part: _Operand, target: Target) -> None:
    """Lines that each level delivers: those that the caches inside it miss and it has itself."""
    line = target.memory[-1].burst_bytes
    caches = [_cache(level, line) for level in target.memory]
    crowded = touched(kernel, part.nest, part.access, part.loops, 0, caches[-1]).sets == 1
    beyond = 0
    for place in range(part.home, len(target.memory) - 1):
        level = target.memory[place]
        missed = misses(kernel, part.nest, part.access, part.loops, caches[place + 1])
        lines = max(0, missed - beyond) * part.nest.trips
        beyond = max(missed, beyond)
        if place == 0:
            lines *= part.ways
        if part.foreseen:
            flow.bytes[level.name] = flow.bytes.get(level.name, 0) + lines * line
            continue
        flow.held_bytes[level.name] = flow.held_bytes.get(level.name, 0) + lines * line
        each = level.set_line_ns if crowded and level.set_line_ns is not None else level.line_ns
        flow.waits_ps += lines * each * PS_PER_NS


def _home(kernel: BoundKernel, access: Access, target: Target) -> int:
    """The level that an operand fetched out of order comes from: the last cache, or memory."""
    tensor = kernel.tensors[access.tensor]
    size = storage_bytes(tensor.element, prod(tensor.shape))
    return 1 if size < RESIDENT * target.memory[1].bytes else 0


def _kept(
    kernel: BoundKernel,
    nest: BoundNest,
    access: Access,
    loops: tuple[Loop, ...],
    target: Target,
) -> bool:
    """Whether what an earlier nest of the same workgroup touched is still near: the block that
    both work on takes at most half of the cache behind the nearest."""
    order = sorted(loops, key=lambda loop: not nest.parallel[loop.dim])
    depth = sum(nest.parallel[loop.dim] for loop in loops)
    cache = _cache(target.memory[-2], target.memory[-1].burst_bytes)
    return 2 * touched(kernel, nest, access, order, depth, cache).lines <= cache.lines


def _foreseen(
    kernel: BoundKernel,
    nest: BoundNest,
    access: Access,
    loops: tuple[Loop, ...],
    target: Target,
) -> bool:
    """Whether the innermost loop that moves the operand walks it line after line, and none of the
    lines that a register tile is at is driven out by the others."""
    if access.map and access.map[-1].indirect:
        return False
    dims = {dim for index in access.map for dim, _ in index.terms}
    moving = [loop for loop in loops if loop.dim in dims and loop.trips > 1]
    if moving and not _to_the_next_line(kernel, access, moving[-1], target):
        return False
    near = _cache(target.memory[-1], target.memory[-1].burst_bytes)
    return pressure(kernel, nest, access, loops, len(loops), near) <= 1


def _to_the_next_line(kernel: BoundKernel, access: Access, loop: Loop, target: Target) -> bool:
    """Whether a turn of the loop goes along the row, or past rows shorter than a line."""
    if any(dim == loop.dim for dim, _ in access.map[-1].terms):
        return True
    tensor = kernel.tensors[access.tensor]
    elements = 0
    for place, index in enumerate(access.map):
        factor = sum(abs(c) for dim, c in index.terms if dim == loop.dim)
        elements += factor * loop.step * prod(tensor.shape[place + 1 :])
    return storage_bytes(tensor.element, elements) <= target.memory[-1].burst_bytes


def _loops(kernel: BoundKernel, nest: BoundNest, tiling: Tiling) -> tuple[Loop, ...]:
    """All loops around the register tile, outermost first: workgroups, tiles, reduction steps."""
    found = []
    place = {axis: dim for dim, axis in enumerate(nest.axes)}
    tile = vector_tile(nest)
    inside = list(nest.extents)
    for axis in tiling.order:
        if axis in place and tiling.tile[axis] < kernel.axes[axis].extent:
            dim = place[axis]
            inside[dim] = tiling.tile[axis]
            found.append(Loop(dim, inside[dim], -(-nest.extents[dim] // inside[dim])))
    for free in (True, False):
        for dim, parallel in enumerate(nest.parallel):
            if parallel == free:
                step = min(tile[dim], max(inside[dim], 1))
                found.append(Loop(dim, step, max(1, -(-inside[dim] // step))))
    return tuple(found)


def _cache(level: Memory, line: int) -> Cache:
    ways = level.ways or 1
    return Cache(line, max(1, level.bytes // (line * ways)), ways)
