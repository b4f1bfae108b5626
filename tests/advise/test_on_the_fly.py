"""Work done where its result is loaded, whatever shape the reader sees it in."""

from __future__ import annotations

import pytest
from kernels import access, elementwise, matmul

from xpu_shark.passes.advise.on_the_fly import on_the_fly
from xpu_shark.passes.advise.split_axis import grouped, in_shape, refined
from xpu_shark.simulator.bind import BoundKernel, bind
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import Dim, Kernel, Nest, Tensor, Work


@pytest.mark.parametrize(
    ("one", "other", "shape"),
    [
        ((24,), (4, 6), (4, 6)),
        ((8, 3), (4, 6), (4, 2, 3)),  # three elements a group, two groups a row
        ((2, 4, 3), (8, 3), (2, 4, 3)),
        ((1, 24), (24,), (24,)),
        ((6, 4), (4, 6), None),  # 6 is no multiple of 4
        ((24,), (25,), None),
    ],
)
def test_shapes_of_the_same_elements_have_a_common_refinement(
    one: tuple[int, ...], other: tuple[int, ...], shape: tuple[int, ...] | None
) -> None:
    assert refined(one, other) == shape


def test_dimensions_are_products_of_neighbours() -> None:
    assert grouped((4, 1, 6), (4, 2, 3)) == [(0,), (), (1, 2)]


def test_a_split_loop_does_the_same_work_on_the_same_bytes() -> None:
    whole = bind(matmul(8, 16, 64), {})
    split = in_shape(whole, 1, (4, 16, 16))  # B[k, n] as [4, 16, n]
    assert split is not None
    assert split.tensors[0].shape == (8, 4, 16)
    assert split.nests[0].contraction is not None
    assert len(split.nests[0].contraction.k) == 2
    assert flops(split) == flops(whole)
    assert compulsory_bytes(split) == compulsory_bytes(whole)


def dequantised(rows: int, groups: int, size: int) -> BoundKernel:
    """Weights [rows x groups, size] of 4 bits, widened and scaled by one number a group."""
    nest = Nest(
        name="generic",
        dims=(Dim(extent=rows * groups, kind="parallel"), Dim(extent=size, kind="parallel")),
        reads=(access(0, 0, 1), access(1, 0)),
        writes=(access(2, 0, 1),),
        work=(Work(kind="convert", element="f32"), Work(kind="mul", element="f32")),
    )
    tensors = (
        Tensor(shape=(rows * groups, size), element="i4", storage="global"),
        Tensor(shape=(rows * groups,), element="f32", storage="global"),
        Tensor(shape=(rows * groups, size), element="f32", storage="global"),
    )
    return bind(Kernel(name="widen", tensors=tensors, nests=(nest,)), {})


def test_groups_of_weights_are_scaled_where_a_product_loads_them() -> None:
    product = bind(matmul(8, 128, 64), {})  # B is 64 x 128: 64 rows of 4 groups of 32
    fused = on_the_fly(dequantised(64, 4, 32), product, [1])
    assert fused is not None
    [nest] = fused.nests
    assert [fused.tensors[each.tensor].element for each in nest.reads] == ["f32", "i4", "f32"]
    # A and C in f32, B in 4 bits, a scale for every group.
    assert compulsory_bytes(fused) == 4 * (8 * 64 + 8 * 128) + 64 * 128 // 2 + 4 * 64 * 4
    # The conversion is no part of what the matrix unit does by itself.
    assert [work.kind for work in nest.work] == ["quantise", "mul", "madd"]


def test_a_result_of_other_elements_is_not_joined() -> None:
    assert on_the_fly(dequantised(64, 4, 32), bind(matmul(8, 128, 65), {}), [1]) is None


def test_a_vector_that_a_matrix_is_made_of_is_one() -> None:
    widen, use = bind(elementwise(512), {}), bind(elementwise(16, 32), {})
    fused = on_the_fly(widen, use, [0])
    assert fused is not None
    assert fused.tensors[0].shape == (16, 32)
    assert compulsory_bytes(fused) == compulsory_bytes(use)
