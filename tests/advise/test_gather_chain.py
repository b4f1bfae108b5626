"""Picks of picks: the composed kernel fetches what is wanted from the first table, and no more."""

from __future__ import annotations

from kernels import access

from xpu_shark.passes.advise.rules.gather_chain import composed, picked
from xpu_shark.simulator.bind import BoundKernel, bind
from xpu_shark.simulator.work import compulsory_bytes
from xpu_shark.simulator.workload import Access, Dim, Index, Kernel, Nest, Tensor, Work

WIDTH = 8  # elements of a row


def pick(rows: int, count: int) -> BoundKernel:
    """out (2) [i] = table (0) [ids (1) [i]], rows of f32."""
    row = Access(tensor=0, map=(Index(terms=((0, 1),), indirect=True), Index(terms=((1, 1),))))
    nest = Nest(
        name="gather",
        dims=(Dim(extent=count, kind="parallel"), Dim(extent=WIDTH, kind="parallel")),
        reads=(row, access(1, 0)),
        writes=(access(2, 0, 1),),
        work=(Work(kind="index", element="index"),),
    )
    shapes = (((rows, WIDTH), "f32"), ((count,), "i32"), ((count, WIDTH), "f32"))
    tensors = tuple(
        Tensor(shape=shape, element=element, storage="global") for shape, element in shapes
    )
    return bind(Kernel(name="pick", tensors=tensors, nests=(nest,)), {})


def test_a_pick_of_a_pick_is_one_by_an_index_of_an_index() -> None:
    first, second = pick(1000, 100), pick(100, 10)
    assert picked(first) == 2
    whole = composed(first, second, 2, 0)
    assert whole is not None
    # Ten rows in and out, ten indices, and the ten of the first indices that these point at.
    assert compulsory_bytes(whole) == 4 * (10 * WIDTH * 2 + 10 + 10)
    table = whole.nests[0].reads[0]
    assert whole.tensors[table.tensor].shape == (1000, WIDTH)
    assert table.map == (Index(terms=((0, 1),), indirect=True), Index(terms=((1, 1),)))


def test_what_is_read_in_order_is_no_pick_and_stays() -> None:
    first, second = pick(1000, 100), pick(100, 10)
    assert composed(second, first, 2, 1) is None  # other shapes
    straight = bind(
        Kernel(
            name="copy",
            tensors=(Tensor(shape=(100, WIDTH), element="f32", storage="global"),) * 2,
            nests=(
                Nest(
                    name="copy",
                    dims=tuple(Dim(extent=size, kind="parallel") for size in (100, WIDTH)),
                    reads=(access(0, 0, 1),),
                    writes=(access(1, 0, 1),),
                    work=(),
                ),
            ),
        ),
        {},
    )
    assert picked(straight) is None
    assert composed(first, straight, 2, 0) is None
