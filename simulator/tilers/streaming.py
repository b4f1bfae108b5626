"""Tiles of one product as XLA lays it out in a large scratchpad: keep one operand, stream the rest.

Where the larger operand fits it is loaded whole; the other one and the result pass in steps of
the compiler's window. With a single step everything is loaded, multiplied and stored in turn.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.footprint import region
from xpu_shark.simulator.nest_cost import matrix_element
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.residency import KEPT_SHARE, capacity
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.granule import granules

SUBLANES = 8  # rows of a vector register: a product of fewer is a vector loop over the weights
SMALLER = (1, 2, 4, 8)  # parts of a window
LEAST_ROWS = 256  # of a step: fewer make too little of the weights that every pass loads
VECTOR_WINDOW_SHARE = 8  # such a loop streams in steps this much smaller


class Product(msgspec.Struct, frozen=True):
    """The only product of a kernel: its axes, and what moves between the memories: bytes of both
    operands, and of the result with whatever else its nests read and write. A product with a
    vector has no m or no n: -1."""

    m: int
    n: int
    k: int
    lhs: int
    rhs: int
    result: int


def product(kernel: BoundKernel, target: Target) -> Product | None:
    """None where the kernel has no or several products, or one with more than three axes."""
    nests = [nest for nest in kernel.nests if matrix_element(target, nest.contraction)]
    if len(nests) != 1:
        return None
    nest, dims = nests[0], nests[0].contraction
    assert dims is not None
    roles = [[d for d in role if nest.extents[d] > 1] for role in (dims.m, dims.n, dims.k)]
    if any(nest.extents[d] > 1 for d in dims.batch) or any(len(role) > 1 for role in roles):
        return None
    m, n, k = (
        nest.axes[(role or every)[-1]] if every else -1
        for role, every in zip(roles, (dims.m, dims.n, dims.k), strict=True)
    )
    if k < 0 or max(m, n) < 0 or not nest.writes:
        return None
    lhs, rhs = (_bytes(kernel, nest, number) for number in (dims.lhs, dims.rhs))
    return Product(m, n, k, lhs, rhs, _others(kernel, nest))


def choices(kernel: BoundKernel, target: Target, work: Product) -> Iterator[Tiling]:
    """Preferred first: the larger operand stays, then the smaller; in steps of a window, then
    of less where what comes after the product needs room. Nothing where no operand can stay, or
    the compiler has no such window."""
    window = target.dma.window_bytes
    if window is None:
        return
    if work.m < 0 or work.n < 0 or kernel.axes[work.m].extent < SUBLANES:
        moving = work.lhs + work.rhs + work.result
        step = window // VECTOR_WINDOW_SHARE
        yield _split(kernel, target, work.n if work.n >= 0 else work.m, -(-moving // step))
        return
    room = capacity(kernel, target)
    for kept, axis in sorted(((work.lhs, work.n), (work.rhs, work.m)), key=lambda side: -side[0]):
        if kept + kernel.held > KEPT_SHARE * target.memory[-1].bytes:
            continue
        moving = work.lhs + work.rhs + work.result - kept
        pieces = max(1, round(moving / window))
        for part in SMALLER:
            tiling = _split(kernel, target, axis, part * pieces)
            step = moving * tiling.tile[axis] // kernel.axes[axis].extent
            if part * pieces > 1 and 2 * step > room - kept:  # no two buffers of what moves
                if part == 1 and kept + moving <= room:
                    yield _split(kernel, target, axis, 1)
                continue
            if part * pieces == 1 or axis == work.n or tiling.tile[axis] >= LEAST_ROWS:
                yield tiling


def _split(kernel: BoundKernel, target: Target, axis: int, pieces: int) -> Tiling:
    tile = [max(each.extent, 1) for each in kernel.axes]
    step = granules(kernel, target)[axis]
    tile[axis] = min(tile[axis], -(-tile[axis] // (pieces * step)) * step)
    order = tuple(a for a, each in enumerate(kernel.axes) if each.parallel)
    return Tiling(tuple(tile), (axis, *(a for a in order if a != axis)))


def _others(kernel: BoundKernel, product: BoundNest) -> int:
    sizes: dict[int, int] = {}
    for nest in kernel.nests:
        for access in (*nest.reads, *nest.writes) if nest is not product else nest.writes:
            tensor = kernel.tensors[access.tensor]
            if tensor.is_global and not tensor.resident:
                sizes[access.tensor] = region(tensor, access, nest.extents).bytes
    return sum(sizes.values())


def _bytes(kernel: BoundKernel, nest: BoundNest, number: int) -> int:
    access = nest.reads[number]
    if kernel.tensors[access.tensor].resident:
        return 0
    return region(kernel.tensors[access.tensor], access, nest.extents).bytes
