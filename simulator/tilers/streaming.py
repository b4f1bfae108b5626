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
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.granule import granules

KEPT_SHARE = 0.75  # of the scratchpad: the most that one operand takes to stay
SUBLANES = 8  # rows of a vector register: a product of fewer is a vector loop over the weights
SMALLER = (1, 2, 4, 8)  # parts of a window
VECTOR_WINDOW_SHARE = 8  # such a loop streams in steps this much smaller


class Product(msgspec.Struct, frozen=True):
    """The only product of a kernel: its axes, and bytes of both operands and the result."""

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
    axes = [
        nest.axes[(role or every)[-1]] if every else -1
        for role, every in zip(roles, (dims.m, dims.n, dims.k), strict=True)
    ]
    if -1 in axes or not nest.writes:
        return None
    sizes = [_bytes(kernel, nest, number) for number in (dims.lhs, dims.rhs)]
    written = region(kernel.tensors[nest.writes[0].tensor], nest.writes[0], nest.extents).bytes
    return Product(*axes, *sizes, written)


def choices(kernel: BoundKernel, target: Target, work: Product) -> Iterator[Tiling]:
    """Preferred first: the larger operand stays, then the smaller; in steps of a window, then
    of less where what comes after the product needs room. Nothing where no operand can stay, or
    the compiler has no such window."""
    window = target.dma.window_bytes
    if window is None:
        return
    limit = int(KEPT_SHARE * target.memory[-1].bytes)
    sides = sorted(((work.lhs, work.n), (work.rhs, work.m)), key=lambda side: -side[0])
    if kernel.axes[work.m].extent < SUBLANES:
        sides = [(work.lhs, work.n)]
        window //= VECTOR_WINDOW_SHARE
    for kept, axis in sides:
        if kept <= limit:
            moving = work.lhs + work.rhs + work.result - kept
            for part in SMALLER:
                yield _split(kernel, target, axis, max(1, round(part * moving / window)))


def _split(kernel: BoundKernel, target: Target, axis: int, pieces: int) -> Tiling:
    tile = [max(each.extent, 1) for each in kernel.axes]
    step = granules(kernel, target)[axis]
    tile[axis] = min(tile[axis], -(-tile[axis] // (pieces * step)) * step)
    order = tuple(a for a, each in enumerate(kernel.axes) if each.parallel)
    return Tiling(tuple(tile), (axis, *(a for a in order if a != axis)))


def _bytes(kernel: BoundKernel, nest: BoundNest, number: int) -> int:
    access = nest.reads[number]
    return region(kernel.tensors[access.tensor], access, nest.extents).bytes
