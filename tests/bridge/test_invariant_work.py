"""Work that does not vary with the innermost loops is done once for all their turns."""

from __future__ import annotations

from pathlib import Path

from iree.compiler import ir

from xpu_shark.passes.bridge.read_kernel import read_kernel
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.bounds import bounds
from xpu_shark.simulator.target import load
from xpu_shark.simulator.work import flops
from xpu_shark.simulator.workload import Kernel

LAYER_NORM = Path(__file__).parents[1] / "inputs" / "layer_norm.mlir"


def kernel() -> Kernel:
    with ir.Context() as context:
        module = ir.Module.parse(LAYER_NORM.read_text(), context)
        function = module.body.operations[0].operation
        return read_kernel(function, name="layer_norm", backend="", location="")


def test_a_row_is_divided_and_rooted_once_not_once_an_element() -> None:
    # The last nest: a division by 256, which is a product, an add and an rsqrt on the row's
    # variance, a product for each element.
    work = {(item.kind, item.loops) for item in kernel().nests[-1].work}
    assert work == {("mul", 1), ("add", 1), ("rsqrt", 1), ("mul", None)}


def test_the_vector_bound_counts_them_once_a_row() -> None:
    # tiny, 4 lanes at 1 GHz: 64 x 256 sums, differences, multiply-adds of squares and products,
    # and 64 rows of 2 divisions by 256, which are products, an add and an rsqrt.
    least = bounds(bind(kernel(), {}), load("tiny")).least_ps["vector"]
    assert least == (64 * 256 * 4 + 64 * (2 + 1 + 1)) * 1000 // 4


def test_flops_count_the_body_as_it_is_written() -> None:
    # Nine operations an element: one sum; a divide and a difference; a product and a sum; a
    # divide, an add, an rsqrt and a product.
    assert flops(bind(kernel(), {})) == 64 * 256 * 9
