"""Elements of overlapping and interleaved parts of one tensor, counted by hand."""

from __future__ import annotations

import pytest

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.work import compulsory_bytes, union
from xpu_shark.simulator.workload import Access, Dim, Index, Kernel, Nest, Tensor


def _reading(offsets: tuple[int, ...], step: int, extent: int, size: int) -> Kernel:
    """Reads `extent` elements of one tensor of `size`, `step` apart, from each of `offsets`."""
    reads = tuple(
        Access(tensor=0, map=(Index(terms=((0, step),), offset=offset),)) for offset in offsets
    )
    dims = (Dim(extent=extent, kind="parallel"),)
    nest = Nest(name="f", dims=dims, reads=reads, writes=(), work=())
    tensor = Tensor(shape=(size,), element="f32", storage="global")
    return Kernel(name="f", tensors=(tensor,), nests=(nest,))


@pytest.mark.parametrize(
    ("offsets", "step", "extent", "elements"),
    [
        ((0,), 1, 10, 10),
        ((0, 0), 1, 10, 10),  # one part read twice
        ((0, 50), 1, 10, 20),  # two parts
        ((0, 1, 2), 1, 10, 12),  # a stencil of three taps
        ((0, 1), 2, 10, 20),  # even and odd elements
        ((0, 2), 2, 10, 11),  # even elements from 0 and from 2
        ((0, 1, 2, 3), 2, 10, 22),  # both of even and odd
    ],
)
def test_parts_of_one_tensor(
    offsets: tuple[int, ...], step: int, extent: int, elements: int
) -> None:
    kernel = _reading(offsets, step, extent, 100)
    assert compulsory_bytes(bind(kernel, {})) == 4 * elements


def test_no_more_than_the_tensor_has() -> None:
    """Taps 0, 1 and 2 at a stride of 2 over 21 elements: 30 reads of 21 elements."""
    assert compulsory_bytes(bind(_reading((0, 1, 2), 2, 10, 21), {})) == 4 * 21


def test_a_cross_of_boxes_is_counted_once() -> None:
    """4 x 4 boxes at the five places of a stencil cover 6 x 6 without the corners."""
    places = frozenset(((1, 1), (0, 1), (2, 1), (1, 0), (1, 2)))
    assert union(((4, True), (4, True)), places) == 6 * 6 - 4
