"""What the caches and the memory of a CPU deliver in one launch, from reuse distances.

A line is *foreseen* where the operand is walked in steps of less than half a page: prefetchers
fetch it in time, and it costs bandwidth. Any other line takes the core a while, beside its
arithmetic. Main memory is where results
go and where foreseen operands come from: the launches between have taken the caches. What is
fetched out of order is taken for resident in the last cache if it needs less than `RESIDENT` of it.
"""

from __future__ import annotations

from math import gcd, inf, prod

import msgspec

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.core_cost import lookahead, vector_tile
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.footprint import accesses, region
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.residency import depends_on
from xpu_shark.simulator.reuse_distance import (
    Cache,
    Loop,
    misses,
    pressure,
    row_distance,
    spans,
    touched,
    touches,
)
from xpu_shark.simulator.target import Memory, Target
from xpu_shark.simulator.units.cost import PS_PER_NS
from xpu_shark.simulator.workload import Access

RESIDENT = 0.25  # of the last cache: what one operand does not keep between launches

# Prefetchers follow a walk inside a page of 4 KiB (Intel 64 and IA-32 Architectures Optimization
# Reference Manual, "Data Prefetching": strides of up to 2 KiB), so three of its lines are in one.
FOLLOWED_BYTES = 2048
FEW_SETS = 4  # of the nearest cache: lines that meet in them drive each other out
STARTS = 2  # lines of each contiguous run that a prefetcher has to see before it runs ahead
ALLOCATED = 2  # a line that is written is read first, as caches allocate on a write


class Wait(msgspec.Struct, frozen=True):
    """Picoseconds of one core that lines from one level take, and the share of the steps of their
    nest in which they come."""

    ps: float
    share: float


class Traffic(msgspec.Struct):
    """By level: `bytes` of foreseen lines and `held_bytes` of the others; what these take in each
    nest, `waits`."""

    bytes: dict[str, int]
    held_bytes: dict[str, int]
    waits: list[list[Wait]]


class _Operand(msgspec.Struct, frozen=True):
    """One access of nest `number`, the loops around its register tile, the share of its
    lines that are foreseen where they come from a cache of the core's own and where from `far`,
    that which the last cache has at first, and how often each goes to or from there."""

    number: int
    nest: BoundNest
    access: Access
    loops: tuple[Loop, ...]
    foreseen: float
    far: float
    near: float
    ways: int


def traffic(kernel: BoundKernel, tiling: Tiling, target: Target) -> Traffic:
    """Of all cores in one launch; what the nearest cache has costs only its loads."""
    assert target.core is not None
    flow = Traffic({}, {}, [[] for _ in kernel.nests])
    seen: set[int] = set()
    for number, nest in enumerate(kernel.nests):
        loops = _loops(kernel, nest, tiling)
        parts = {(a.tensor, *depends_on(nest, a)): (a, written) for a, written in accesses(nest)}
        for access, written in parts.values():
            if not kernel.tensors[access.tensor].is_global or not nest.points:
                continue
            if access.tensor in seen and _kept(kernel, nest, access, loops, target):
                continue
            seen.add(access.tensor)
            followed = 1.0 if written else target.core.followed
            foreseen, far = _foreseen(kernel, nest, access, loops, tiling, target, followed)
            near = _near(kernel, access, target, foreseen=foreseen > 0 or written)
            ways = ALLOCATED if written else 1
            turning = _summing(nest, loops) if written else loops
            part = _Operand(number, nest, access, turning, foreseen, far, near, ways)
            _add(flow, kernel, part, target)
    return flow


def _add(flow: Traffic, kernel: BoundKernel, part: _Operand, target: Target) -> None:
    """Lines that each level delivers: those that the caches inside it miss and it has itself."""
    line = target.memory[-1].burst_bytes
    caches = [_cache(level, line) for level in target.memory]
    tensor, tile = kernel.tensors[part.access.tensor], spans(part.nest, part.loops, len(part.loops))
    neighbours = max(1, region(tensor, part.access, tile).run_bytes // line)
    sets = _sets(row_distance(tensor, part.access, tile), caches[-1])
    single = _single(part.nest, target) if sets <= FEW_SETS else 1.0
    fetches = touches(kernel, part.nest, part.access, part.loops, caches[-1]) * part.nest.trips
    # Nobody waits for what is stored.
    in_flight = inf if part.ways > 1 else _lines_ahead(kernel, part.nest, fetches, target)
    beyond = 0
    for place, level in enumerate(target.memory[:-1]):
        missed = misses(kernel, part.nest, part.access, part.loops, caches[place + 1])
        if place == 0:
            missed = round(missed * (1 - part.near))
        lines = max(0, missed - beyond) * part.nest.trips
        beyond = max(missed, beyond)
        if place == 0 or (place == 1 and part.near):
            lines *= part.ways
        ahead = int(lines * (part.far if level.shared else part.foreseen))
        held = lines - ahead
        flow.bytes[level.name] = flow.bytes.get(level.name, 0) + ahead * line
        flow.held_bytes[level.name] = flow.held_bytes.get(level.name, 0) + held * line
        each = max(_line_ns(level, sets) * single, level.latency_ns / in_flight)
        asked = held * (1 + (neighbours - 1) * _beside(level)) / neighbours
        if asked:
            share = min(1.0, held / max(fetches, 1))
            flow.waits[part.number].append(Wait(asked * each * PS_PER_NS, share))


def _lines_ahead(kernel: BoundKernel, nest: BoundNest, fetches: int, target: Target) -> float:
    """Lines of an operand that a core has asked for at a time: as many as the operations, so far
    as it looks ahead, come to."""
    assert target.core is not None
    ahead, operations = lookahead(kernel, nest, target)
    return max(1.0, ahead * fetches / (operations * nest.trips)) if operations else inf


def _summing(nest: BoundNest, loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """The loops that bring a result of the nest to the caches: the sums of a product are in
    registers while its reduction turns."""
    if nest.contraction is None:
        return loops
    return tuple(loop for loop in loops if nest.parallel[loop.dim])


def _sets(distance: int, near: Cache) -> int:
    """Sets of the nearest cache that the lines of rows `distance` bytes apart fall into."""
    if distance % near.line_bytes:
        return near.sets
    return near.sets // gcd(distance // near.line_bytes, near.sets)


def _single(nest: BoundNest, target: Target) -> float:
    """What lines that meet in few sets take of their time where a register tile takes one term of
    each sum at a time: they are asked for one by one, between multiply-adds."""
    assert target.core is not None
    sizes = zip(vector_tile(nest), nest.parallel, strict=True)
    several = any(size > 1 for size, free in sizes if not free)
    return 1.0 if several or nest.contraction is None else target.core.single_share


def _beside(level: Memory) -> float:
    """What a line next to one that is fetched costs of it: a cache of the core's own sends it
    along."""
    return level.next_line_share if level.shared else 0.0


def _line_ns(level: Memory, sets: int) -> float:
    """What one line takes that comes from `level` to one of `sets`."""
    few = level.line_ns if level.few_line_ns is None else level.few_line_ns
    one = few if level.set_line_ns is None else level.set_line_ns
    return {1: one, 2: (one + few) / 2, 4: few}.get(sets, level.line_ns)


def _near(kernel: BoundKernel, access: Access, target: Target, *, foreseen: bool) -> float:
    """The share of an operand that the last cache has, the rest is in memory. Where nobody knows
    what ran before, launches between have taken the cache, but for what one operand that is
    fetched out of order is taken to keep of it."""
    tensor = kernel.tensors[access.tensor]
    if tensor.cached is not None:
        return tensor.cached
    size = storage_bytes(tensor.element, prod(tensor.shape))
    return float(not foreseen and size < RESIDENT * target.memory[1].bytes)


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
    tiling: Tiling,
    target: Target,
    followed: float,
) -> tuple[float, float]:
    """Share of the lines that are there in time, from a cache of the core's own and from further
    away: none, where the innermost loop that moves the operand is not walked as prefetchers follow,
    or the lines that a register tile is at are driven out by the others; of near rows all, or from
    further away those that are `followed`; else all but the first of each run in a row."""
    none = 0.0, 0.0
    if access.map and access.map[-1].indirect:
        return none
    dims = {dim for index in access.map for dim, _ in index.terms}
    moving = [loop for loop in loops if loop.dim in dims and loop.trips > 1]
    if moving and not _followed(kernel, access, moving[-1]):
        return none
    near = _cache(target.memory[-1], target.memory[-1].burst_bytes)
    if pressure(kernel, nest, access, loops, len(loops), near) > 1:
        return none
    tensor, share = kernel.tensors[access.tensor], tuple(tiling.tile[a] for a in nest.axes)
    run = max(1, region(tensor, access, share).run_bytes)
    begun = max(0.0, 1 - STARTS * near.line_bytes / run)
    if row_distance(tensor, access, share) >= FOLLOWED_BYTES:
        return begun, begun
    return 1.0, max(begun, followed)


def _followed(kernel: BoundKernel, access: Access, loop: Loop) -> bool:
    """Whether the loop goes along the row, or over rows that are near enough to each other."""
    if any(dim == loop.dim for dim, _ in access.map[-1].terms):
        return True
    tensor = kernel.tensors[access.tensor]
    elements = 0
    for place, index in enumerate(access.map):
        factor = sum(abs(c) for dim, c in index.terms if dim == loop.dim)
        elements += factor * prod(tensor.shape[place + 1 :])
    return storage_bytes(tensor.element, elements) < FOLLOWED_BYTES


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
