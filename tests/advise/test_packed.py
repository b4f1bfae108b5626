"""A tensor stored without the gaps between the elements that a kernel takes."""

from __future__ import annotations

import pytest

from xpu_shark.passes.advise.packed import packed
from xpu_shark.simulator.bind import BoundKernel, bind
from xpu_shark.simulator.workload import Access, Dim, Index, Kernel, Nest, Tensor, Work

Terms = tuple[tuple[int, int], ...]


def reading(
    extents: tuple[int, ...],
    shape: tuple[int, ...],
    *places: tuple[Terms, ...],
    contiguous: int = 0,
) -> BoundKernel:
    """A sum of reads of one tensor, each with the terms of all its dimensions."""
    reads = tuple(
        Access(tensor=0, map=tuple(Index(terms=terms, offset=n) for terms in place))
        for n, place in enumerate(places)
    )
    out = Access(tensor=1, map=tuple(Index(terms=((d, 1),)) for d in range(len(extents))))
    nest = Nest(
        name="generic",
        dims=tuple(Dim(extent=extent, kind="parallel") for extent in extents),
        reads=reads,
        writes=(out,),
        work=(Work(kind="add", element="f32"),),
    )
    source = Tensor(shape=shape, element="f32", storage="global", contiguous=contiguous)
    result = Tensor(shape=extents, element="f32", storage="global")
    return bind(Kernel(name="reading", tensors=(source, result), nests=(nest,)), {})


@pytest.mark.parametrize(
    ("extents", "shape", "place", "stored", "factors"),
    [
        # Every eighth element.
        ((100,), (800,), (((0, 8),),), (100,), ((0, 1),)),
        # Five of every sixteen: i counts records, j inside them.
        ((10, 5), (160,), (((0, 16), (1, 1)),), (50,), ((0, 5), (1, 1))),
        # One field of records.
        ((100,), (100, 16), (((0, 1),), ()), (100, 1), ()),
        # Windows of three, two apart, dilated by two: every second element of 2 x 9 + 2 x 2 + 1.
        ((10, 3), (23,), (((0, 2), (1, 2)),), (12,), ((0, 1), (1, 1))),
    ],
)
def test_gaps_between_elements_go(
    extents: tuple[int, ...],
    shape: tuple[int, ...],
    place: tuple[Terms, ...],
    stored: tuple[int, ...],
    factors: Terms,
) -> None:
    kernel = packed(reading(extents, shape, place), 0)
    assert kernel is not None
    assert kernel.tensors[0].shape == stored
    assert sorted(kernel.nests[0].reads[0].map[-1].terms) == sorted(factors)


def test_a_part_of_a_larger_array_becomes_one_of_its_own() -> None:
    kernel = packed(reading((100,), (100,), (((0, 1),),), contiguous=1), 0)
    assert kernel is not None
    assert kernel.tensors[0].contiguous == 0


@pytest.mark.parametrize(
    ("extents", "shape", "places"),
    [
        ((100,), (100,), [(((0, 1),),)]),  # dense
        ((10, 3), (21,), [(((0, 2), (1, 1)),)]),  # windows that overlap and leave nothing out
        ((50,), (100,), [(((0, 2),),), (((0, 1),),)]),  # read in two ways
    ],
)
def test_what_has_no_gaps_or_is_read_in_two_ways_stays(
    extents: tuple[int, ...], shape: tuple[int, ...], places: list[tuple[Terms, ...]]
) -> None:
    assert packed(reading(extents, shape, *places), 0) is None
