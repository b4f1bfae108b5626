"""What one workgroup of a nest costs on a CPU core: its compiler's loops, on the unit `core`.

How IREE's CPU backend lowers tiles: a nest whose vector tile divides its workgroup is unrolled
into vectors; contractions have the rest peeled off into scalar loops; anything else that does not
divide runs point by point, each result of a reduction waiting for the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import ceil, prod

import msgspec

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.element_type import bits
from xpu_shark.simulator.nest_cost import FREE, times
from xpu_shark.simulator.target import Core, Target
from xpu_shark.simulator.units import core as unit
from xpu_shark.simulator.units.vector import op_cycles
from xpu_shark.simulator.workload import Access

PARALLEL = ("vector_common_parallel", "vector_inner_parallel")
REDUCTION = ("vector_reduction",)
PEELED = "cache_parallel"  # a level that only contractions have, whose edges IREE peels off
FOLDS = ("max", "add", "mul", "madd", "logic")


class Shape(msgspec.Struct, frozen=True):
    """How a nest is vectorized: the `tile` that is unrolled, the loop dim along the `lane`s (-1:
    none, the nest is scalar), whether a row is `folded` into one value lane by lane, and whether
    edges are `peeled` off."""

    tile: tuple[int, ...]
    lane: int
    folded: bool = False
    peeled: bool = False


def vector_tile(nest: BoundNest) -> tuple[int, ...]:
    """Points of each loop dim that are unrolled together, as the IR says; 1 where it does not."""
    tile = [1] * len(nest.extents)
    for level in nest.tiles:
        if level.name in (*PARALLEL, *REDUCTION):
            for dim, size in enumerate(level.sizes[: len(tile)]):
                tile[dim] = max(tile[dim], size)
    return tuple(tile)


def cycles(kernel: BoundKernel, nest: BoundNest, target: Target, extents: Sequence[int]) -> float:
    """Cycles of one core for `extents` iterations of each loop dim, operands in the nearest cache.

    `target.core` must be there.
    """
    core = target.core
    assert core is not None
    points = prod(extents)
    if not points or not nest.points:
        return 0.0
    share = nest.points / nest.box  # ragged bounds leave points out of every tile alike
    shape = shape_of(kernel, nest, extents)
    if shape.lane < 0:
        return share * points * _point_cycles(nest, target, core, extents)
    if shape.peeled:
        return share * _peeled_cycles(kernel, nest, target, core, shape, extents)
    each = points * _vector_cycles(kernel, nest, target, core, shape, extents)
    across, length = shape.tile[shape.lane], extents[shape.lane]
    if length % across and not shape.folded:
        filled = -(-length // across)
        each *= filled * across / length
        if nest.work:
            each += points // length * filled * core.masked_cycles
    return share * each


def lookahead(kernel: BoundKernel, nest: BoundNest, target: Target) -> tuple[float, float]:
    """(how many vector operations a core looks ahead, how many the nest has): multiply-adds of a
    product, and what they wait for beside them; additions of other work."""
    core = target.core
    assert core is not None
    vectors = nest.points / target.vector.lanes
    if nest.contraction is None:
        additions = _op_cycles(nest, target, nest.extents) / op_cycles(target.vector, "add", "f32")
        return unit.window(core, "default"), vectors * additions
    shape = shape_of(kernel, nest, nest.extents)
    element = _element(kernel, nest)
    ahead = unit.madds_ahead(core, element)
    if shape.lane < 0 or shape.folded:
        return ahead, vectors
    rows = prod(t for t, p in zip(shape.tile, nest.parallel, strict=True) if p)
    step = _step(kernel, nest, core, shape, rows // shape.tile[shape.lane], 1)
    swaps = step.swapped * unit.shuffle_cycles(core) / (step.rows * step.columns)
    return ahead, vectors + nest.points * swaps / unit.madd_cycles(core, element)


def copies(kernel: BoundKernel, number: int, extents: Sequence[int]) -> int:
    """How often a workgroup computes nest `number`: a reduction of rows is fused into the loops of
    each reduction that reads it, and into those of the element-wise work behind, where its tiles
    make loops; one tile has none, and is done once."""
    nest = kernel.nests[number]
    if all(nest.parallel) or nest.contraction is not None:
        return 1
    tile = vector_tile(nest)
    if not any(p and e > t for e, t, p in zip(extents, tile, nest.parallel, strict=True)):
        return 1
    results = {access.tensor for access in nest.writes}
    readers = [
        all(later.parallel)
        for later in kernel.nests[number + 1 :]
        if results & {access.tensor for access in later.reads}
    ]
    return max(1, readers.count(False) + any(readers))


def _peeled_cycles(
    kernel: BoundKernel,
    nest: BoundNest,
    target: Target,
    core: Core,
    shape: Shape,
    extents: Sequence[int],
) -> float:
    """Cycles of whole tiles, and of the smaller ones that are left along each parallel dim. At the
    end of the array their size is not known to the compiler, and what is left along the lanes
    of a product is scalar, or masked vectors that are taken apart."""
    scalar = extents[shape.lane] < _share(nest, shape.lane) and _along_lanes(nest, shape.lane)
    choices = []
    for size, extent, free in zip(shape.tile, extents, nest.parallel, strict=True):
        left = extent % size if free else 0
        choices.append([(s, n) for s, n in ((size, extent - left), (left, left)) if n])
    total = 0.0
    for pieces in product(*choices):
        part = msgspec.structs.replace(shape, tile=tuple(size for size, _ in pieces))
        cut = part.tile[shape.lane] < vector_tile(nest)[shape.lane]
        if scalar and cut and nest.contraction is not None:
            each = _cut_cycles(nest, target, core, part)
        else:
            each = _vector_cycles(kernel, nest, target, core, part, extents)
        total += each * prod(count for _, count in pieces)
    return total


def _cut_cycles(nest: BoundNest, target: Target, core: Core, shape: Shape) -> float:
    """Cycles a point of a product's tile that is cut along its lanes. Sums wider than a register
    are masked: LLVM puts them together from single elements before each step, with the operand
    that lies along the lanes, and takes them apart behind it. The multiply-adds are those of the
    whole tile."""
    across, left = vector_tile(nest)[shape.lane], shape.tile[shape.lane]
    if core.apart_cycles is None or across <= target.vector.lanes:
        return core.scalar_cycles
    sides = list(zip(shape.tile, nest.parallel, strict=True))
    rows = prod(size for size, free in sides if free) // left
    steps = prod(size for size, free in sides if not free)
    apart = core.apart_cycles * across * (rows + steps) / (rows * left * steps)
    return max(apart, core.madd_cycles["default"] * across / left / target.vector.lanes)


def _share(nest: BoundNest, dim: int) -> int:
    """Iterations of a loop dim that a whole workgroup takes; 0 where the IR does not say."""
    sizes = [level.sizes for level in nest.tiles if level.name == PEELED]
    return sizes[0][dim] if sizes and dim < len(sizes[0]) else 0


def _along_lanes(nest: BoundNest, lane: int) -> bool:
    """Whether an operand that is reduced lies along the lanes."""
    steps = [dim for dim, free in enumerate(nest.parallel) if not free]
    return any(
        _innermost(access) == lane and any(_uses(access, dim) for dim in steps)
        for access in nest.reads
    )


def least_cycles(nest: BoundNest, target: Target) -> float:
    """Cycles of one core that no tiling goes below: multiply-adds of a product at the best rate
    of any type, other operations on full vectors without what a reduction carries along, narrow
    types as if the core had them."""
    core = target.core
    assert core is not None
    if nest.contraction is not None:
        slow = (core.scalar_cycles, core.ragged_cycles or core.scalar_cycles)
        best = min((*core.madd_cycles.values(), *slow))
        return nest.points * best / target.vector.lanes
    skip = "" if all(nest.parallel) else _fold_kind(nest)
    share = nest.points / max(nest.box, 1)
    each = _op_cycles(nest, target, nest.extents, skip, native=True)
    return share * nest.box * each / target.vector.lanes


def shape_of(kernel: BoundKernel, nest: BoundNest, extents: Sequence[int]) -> Shape:
    """How the compiler vectorizes `extents` iterations of each loop dim."""
    tile = tuple(min(t, max(e, 1)) for t, e in zip(vector_tile(nest), extents, strict=True))
    scalar = Shape(tile, -1)
    peeled = any(level.name == PEELED for level in nest.tiles)
    if not nest.tiles or nest.whole or _indirect(nest):
        return scalar
    if not nest.work and _moves_memory(kernel, nest) and not _keeps_order(nest):
        return scalar
    ragged = any(e % t for e, t in zip(extents, tile, strict=True))
    if ragged and not peeled and nest.contraction is not None:
        return scalar
    free = [dim for dim, parallel in enumerate(nest.parallel) if parallel and tile[dim] > 1]
    lane = _last_dim(nest.writes[0], free) if nest.writes else -1
    if all(nest.parallel):
        return Shape(tile, lane if lane >= 0 else (free[-1] if free else -1), peeled=peeled)
    along = lane >= 0 and _along_lanes(nest, lane)
    product = lane >= 0 and nest.contraction and nest.contraction.m and nest.contraction.n
    steps = [dim for dim, p in enumerate(nest.parallel) if not p and tile[dim] > 1]
    if along or product or not steps:
        return Shape(tile, lane, peeled=peeled)
    return Shape(tile, steps[-1], folded=True, peeled=peeled)


def _vector_cycles(
    kernel: BoundKernel,
    nest: BoundNest,
    target: Target,
    core: Core,
    shape: Shape,
    extents: Sequence[int],
) -> float:
    """Cycles a point of a nest in vectors."""
    if all(nest.parallel):
        return _element_cycles(kernel, nest, target, core, shape, extents)
    rows = prod(t for t, p in zip(shape.tile, nest.parallel, strict=True) if p)
    length = prod(e for e, p in zip(extents, nest.parallel, strict=True) if not p)
    kind = _fold_kind(nest)
    if shape.folded:
        if kind == "madd":  # multiplied in vectors, added up lane by lane
            return unit.fold_cycles(core, "add", rows, length)
        others = _op_cycles(nest, target, extents, skip=kind) / target.vector.lanes
        return unit.fold_cycles(core, kind, rows, length) + others
    across = shape.tile[shape.lane]
    rows //= across
    if nest.contraction is not None or any(work.kind == "madd" for work in nest.work):
        step = _step(kernel, nest, core, shape, rows, length)
        element = _element(kernel, nest)
        busy = unit.product_cycles(target, core, step, element, _width(kernel, nest))
        return busy / (rows * across)
    held = rows * unit.filled(target, core, across, _width(kernel, nest))
    busy = held * max(_op_cycles(nest, target, extents), unit.vector_load_cycles(core))
    return max(busy, unit.chain_cycles(core, kind, length, ceil(held))) / (rows * across)


def _element(kernel: BoundKernel, nest: BoundNest) -> str:
    """The type that a product is stored in."""
    return max((kernel.tensors[access.tensor].element for access in nest.reads), key=bits)


def _step(
    kernel: BoundKernel, nest: BoundNest, core: Core, shape: Shape, rows: int, length: int
) -> unit.Product:
    """One reduction step of the register tile."""
    across, swapped, gathered, fetch = shape.tile[shape.lane], 0, 0, 0.0
    windows = any(_steps_over(access, shape.lane) for access in nest.reads)
    for access in nest.reads:
        if _steps_over(access, shape.lane) or (windows and _in_gaps(nest, access, shape)):
            gathered += _spread(nest, access, shape.tile)
            each = unit.gather_cycles(core, kernel.tensors[access.tensor].element)
            fetch = max(fetch, each)
        elif _uses(access, shape.lane) and _innermost(access) != shape.lane:
            swapped = across
    return unit.Product(rows, across, length, swapped, gathered, fetch)


def _element_cycles(
    kernel: BoundKernel,
    nest: BoundNest,
    target: Target,
    core: Core,
    shape: Shape,
    extents: Sequence[int],
) -> float:
    """Cycles a point of element-wise work: the busier of arithmetic and of loads and stores."""
    per = unit.filled(target, core, shape.tile[shape.lane], 32) / shape.tile[shape.lane]
    moves, swaps, fetches = 0, 0, 0.0
    for access in (*nest.reads, *nest.writes):
        if not kernel.tensors[access.tensor].is_global or not _uses(access, shape.lane):
            continue
        if _steps_over(access, shape.lane):
            fetches += unit.gather_cycles(core, kernel.tensors[access.tensor].element)
        elif _innermost(access) != shape.lane:
            swaps += 1
        else:
            moves += 1
    busy = max(_op_cycles(nest, target, extents), moves * unit.vector_load_cycles(core))
    return busy * per + swaps * core.swap_cycles + fetches


def _point_cycles(nest: BoundNest, target: Target, core: Core, extents: Sequence[int]) -> float:
    """Cycles a point of a scalar loop: an operation takes as long on one lane as on all."""
    if nest.whole:
        return _sort_cycles(nest, target, core, extents)
    if not all(nest.parallel) and nest.contraction is not None:
        return core.scalar_cycles if core.ragged_cycles is None else core.ragged_cycles
    busy = core.point_cycles + _op_cycles(nest, target, extents)
    return busy + unit.gather_cycles(core, "default") if _indirect(nest) else busy


def _sort_cycles(nest: BoundNest, target: Target, core: Core, extents: Sequence[int]) -> float:
    """Cycles an element of IREE's sort, which compares all neighbours of n elements n times; the
    nest has its comparator log2(n) times an element, in its work or in its points."""
    along = prod(e for e, p in zip(nest.extents, nest.parallel, strict=True) if not p)
    times, counted = nest.points / nest.box, max(1, (along - 1).bit_length())
    comparator = _op_cycles(nest, target, extents) / counted
    return (along - 1) * (core.sort_cycles / times + comparator)


def _op_cycles(
    nest: BoundNest,
    target: Target,
    extents: Sequence[int],
    skip: str = "",
    *,
    native: bool = False,
) -> float:
    """Arithmetic of one point, as cycles of a whole vector. What is stored in fewer bits than it
    is computed in is converted for each operation, unless types are taken for `native`."""
    assert target.core is not None
    points = max(prod(extents), 1)
    total = 0.0
    for work in nest.work:
        if work.kind not in FREE and work.kind != skip:
            element, narrow = work.element, 0.0
            if work.kind != "convert" and element in target.core.narrow_cycles:
                narrow = 0.0 if native else target.core.narrow_cycles[element]
                element = "f32"
            each = op_cycles(target.vector, work.kind, element) + narrow
            total += work.count * times(work, extents, points) / points * each
    return total


def _fold_kind(nest: BoundNest) -> str:
    """The operation that carries a reduction from point to point: the last that can."""
    kinds = [work.kind for work in nest.work]
    return next((kind for kind in FOLDS if kind in kinds), "default")


def _width(kernel: BoundKernel, nest: BoundNest) -> int:
    if nest.contraction is not None:
        return bits(nest.contraction.accumulator)
    return max(bits(work.element) for work in nest.work)


def _indirect(nest: BoundNest) -> bool:
    return any(i.indirect for access in (*nest.reads, *nest.writes) for i in access.map)


def _uses(access: Access, dim: int) -> bool:
    return any(d == dim for index in access.map for d, _ in index.terms)


def _spread(nest: BoundNest, access: Access, tile: Sequence[int]) -> int:
    """Elements of the operand that one reduction step of a register tile takes."""
    dims = {dim for index in access.map for dim, _ in index.terms if nest.parallel[dim]}
    return prod(tile[dim] for dim in dims)


def _moves_memory(kernel: BoundKernel, nest: BoundNest) -> bool:
    """Whether it reads from memory: what another nest left in registers goes where it has to."""
    return all(kernel.tensors[access.tensor].is_global for access in nest.reads)


def _keeps_order(nest: BoundNest) -> bool:
    """Whether a copy walks what it reads and what it writes in one order: only then is it done in
    vectors."""
    orders = [
        [dim for index in access.map for dim, _ in index.terms if nest.extents[dim] > 1]
        for access in (*nest.reads, *nest.writes)
    ]
    common = set.intersection(*map(set, orders)) if orders else set()
    return len({tuple(dim for dim in order if dim in common) for order in orders}) <= 1


def _in_gaps(nest: BoundNest, access: Access, shape: Shape) -> bool:
    """Whether the reduction steps of a register tile are not next to each other in the operand:
    beside windows that move by more than one, vectors of them are filled element by element."""
    steps = {dim for dim, free in enumerate(nest.parallel) if not free and shape.tile[dim] > 1}
    used = {dim for dim in steps if _uses(access, dim)}
    return bool(used) and _innermost(access) not in used


def _steps_over(access: Access, dim: int) -> bool:
    """Whether `dim` walks the tensor's last dimension with gaps."""
    return bool(access.map) and any(d == dim and abs(c) > 1 for d, c in access.map[-1].terms)


def _innermost(access: Access) -> int:
    """The loop dim that walks the tensor's last dimension step by step; -1 for none."""
    for dim, factor in access.map[-1].terms if access.map else ():
        if factor == 1:
            return dim
    return -1


def _last_dim(access: Access, among: Sequence[int]) -> int:
    """The one `among` loop dims that walks the innermost dimension of the tensor."""
    for index in reversed(access.map):
        for dim, _ in index.terms:
            if dim in among:
                return dim
    return -1
