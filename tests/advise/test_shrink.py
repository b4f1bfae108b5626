"""Kernels on a part of an axis: all parts together are the whole."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "simulator"))
from kernels import elementwise, matmul

from xpu_shark.passes.advise.shrink import accumulated, outermost_axis, resized, shrunk
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.simulate import run_bound
from xpu_shark.simulator.target import load
from xpu_shark.simulator.tiling import choose
from xpu_shark.simulator.work import compulsory_bytes, flops

PRODUCT = bind(matmul(64, 32, 128), {})  # A 64 x 128, B 128 x 32, C 64 x 32, all f32


@pytest.mark.parametrize(("tensor", "axis"), [(0, 0), (1, 2), (2, 0)])
def test_the_outermost_axis_walks_the_first_dimension(tensor: int, axis: int) -> None:
    assert outermost_axis(PRODUCT, tensor) == axis


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("parts", [2, 4, 8])
def test_parts_share_the_work_out(axis: int, parts: int) -> None:
    part = shrunk(PRODUCT, axis, parts)
    assert flops(part) * parts == flops(PRODUCT)
    assert part.axes[axis].extent * parts == PRODUCT.axes[axis].extent


def test_tensors_shrink_with_the_axis_that_walks_them() -> None:
    # A quarter of the rows: a quarter of A and of C, all of B.
    assert compulsory_bytes(shrunk(PRODUCT, 0, 4)) == 4 * (16 * 128 + 128 * 32 + 16 * 32)


def test_a_size_that_does_not_divide_is_rounded_up() -> None:
    assert shrunk(PRODUCT, 1, 5).axes[1].extent == 7


def test_back_to_the_old_size_is_the_old_kernel() -> None:
    assert resized(resized(PRODUCT, 2, 16), 2, 128) == PRODUCT


def test_later_parts_of_a_reduction_read_what_is_there() -> None:
    cut = accumulated(PRODUCT, 2, 4)
    assert cut is not None
    first, later, rest = cut
    assert rest is None
    assert flops(first) * 4 == flops(PRODUCT)
    assert flops(later) == flops(first)
    tiny = load("tiny")
    bytes_of = [
        run_bound(each, choose(each, tiny, "default"), tiny).bytes["hbm"] for each in cut[:2]
    ]
    assert bytes_of[1] - bytes_of[0] >= 4 * 64 * 32


def test_what_is_no_product_is_not_cut() -> None:
    assert accumulated(bind(elementwise(64), {}), 0, 2) is None
