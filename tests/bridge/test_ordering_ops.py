"""Sort, top-k, scan, FFT, gather, scatter and Winograd transforms."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from xpu_shark.passes.bridge.ops.order import log2_ceil
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.symbolic import evaluate, symbol
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import Kernel

Read = Callable[[str], Kernel]


def _work(kernel: Kernel) -> dict[str, int]:
    """Operations by kind, over the whole kernel."""
    totals: dict[str, int] = {}
    for nest in bind(kernel, {}).nests:
        for work in nest.work:
            totals[work.kind] = totals.get(work.kind, 0) + work.count * nest.points
    return totals


@pytest.mark.parametrize(("size", "halvings"), [(1, 0), (2, 1), (3, 2), (1000, 10), (1024, 10)])
def test_log2_is_rounded_up_also_for_a_symbol(size: int, halvings: int) -> None:
    assert log2_ceil(size) == halvings
    assert evaluate(log2_ceil(symbol("n")), {"n": size}) == halvings


def test_sort_compares_n_log_n_times_and_is_in_place(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<4x1000xf32>, %b: tensor<4x1000xi32>)
    -> (tensor<4x1000xf32>, tensor<4x1000xi32>) {
  %0:2 = iree_linalg_ext.sort dimension(1)
    outs(%a, %b : tensor<4x1000xf32>, tensor<4x1000xi32>) {
  ^bb0(%x: f32, %y: f32, %i: i32, %j: i32):
    %c = arith.cmpf olt, %x, %y : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<4x1000xf32>, tensor<4x1000xi32>
  return %0#0, %0#1 : tensor<4x1000xf32>, tensor<4x1000xi32>
}""")
    assert kernel.state == "modelled"
    assert _work(kernel) == {"compare": 4 * 1000 * 10}
    assert compulsory_bytes(bind(kernel, {})) == 2 * 2 * 4000 * 4


def test_topk_keeps_a_heap_of_k(read: Read) -> None:
    """k = 2: a heap of two is two comparisons deep at most."""
    kernel = read("""
func.func @f(%a: tensor<64x8xf32>) -> (tensor<64x2xf32>, tensor<64x2xi32>) {
  %e = tensor.empty() : tensor<64x2xf32>
  %i = tensor.empty() : tensor<64x2xi32>
  %0:2 = iree_linalg_ext.topk dimension(1) ins(%a : tensor<64x8xf32>)
    outs(%e, %i : tensor<64x2xf32>, tensor<64x2xi32>) {
  ^bb0(%x: f32, %y: f32):
    %c = arith.cmpf ogt, %x, %y : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<64x2xf32>, tensor<64x2xi32>
  return %0#0, %0#1 : tensor<64x2xf32>, tensor<64x2xi32>
}""")
    assert _work(kernel) == {"compare": 64 * 8 * 2}
    assert compulsory_bytes(bind(kernel, {})) == 64 * 8 * 4 + 64 * 2 * (4 + 4)


def test_arg_compare_keeps_value_and_index(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<4x128xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %e = tensor.empty() : tensor<4xf32>
  %i = tensor.empty() : tensor<4xi32>
  %0:2 = iree_linalg_ext.arg_compare dimension(1) ins(%a : tensor<4x128xf32>)
    outs(%e, %i : tensor<4xf32>, tensor<4xi32>) {
  ^bb0(%x: f32, %y: f32):
    %c = arith.cmpf ogt, %x, %y : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<4xf32>, tensor<4xi32>
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi32>
}""")
    assert _work(kernel) == {"compare": 4 * 128, "select": 2 * 4 * 128}
    assert compulsory_bytes(bind(kernel, {})) == 4 * 128 * 4 + 4 * (4 + 4)


def test_scan_runs_its_body_once_an_element(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<128x8xf32>) -> tensor<128x8xf32> {
  %e = tensor.empty() : tensor<128x8xf32>
  %z = tensor.empty() : tensor<8xf32>
  %0:2 = iree_linalg_ext.scan dimension(0) inclusive(true) ins(%a : tensor<128x8xf32>)
    outs(%e, %z : tensor<128x8xf32>, tensor<8xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    iree_linalg_ext.yield %s : f32
  } -> tensor<128x8xf32>, tensor<8xf32>
  return %0#0 : tensor<128x8xf32>
}""")
    assert flops(bind(kernel, {})) == 128 * 8
    assert compulsory_bytes(bind(kernel, {})) == 2 * 128 * 8 * 4


def test_an_fft_stage_is_ten_operations_a_butterfly(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<1024xf32>, %b: tensor<1024xf32>, %c: tensor<1xf32>, %d: tensor<1xf32>)
    -> (tensor<1024xf32>, tensor<1024xf32>) {
  %s = arith.constant 1 : index
  %0:2 = iree_linalg_ext.fft ins(%s, %c, %d : index, tensor<1xf32>, tensor<1xf32>)
    outs(%a, %b : tensor<1024xf32>, tensor<1024xf32>) : tensor<1024xf32>, tensor<1024xf32>
  return %0#0, %0#1 : tensor<1024xf32>, tensor<1024xf32>
}""")
    assert flops(bind(kernel, {})) == 512 * 10
    assert compulsory_bytes(bind(kernel, {})) == 4 * (4 * 1024 + 2)


GATHERED_ROWS = 32 * 64 * 4


def test_gather_reads_only_the_rows_it_needs(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<1000x64xf32>, %b: tensor<32xi32>) -> tensor<32x64xf32> {
  %e = tensor.empty() : tensor<32x64xf32>
  %0 = iree_linalg_ext.gather dimension_map = [0] ins(%a, %b : tensor<1000x64xf32>, tensor<32xi32>)
    outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}""")
    assert flops(bind(kernel, {})) == 0
    assert compulsory_bytes(bind(kernel, {})) == 2 * GATHERED_ROWS + 32 * 4


def test_a_gather_in_a_body_is_the_same(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<1000x64xf32>, %b: tensor<32xi32>) -> tensor<32x64xf32> {
  %e = tensor.empty() : tensor<32x64xf32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%b : tensor<32xi32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%i: i32, %o: f32):
    %r = arith.index_cast %i : i32 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %a[%r, %j] : tensor<1000x64xf32>
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}""")
    assert compulsory_bytes(bind(kernel, {})) == 2 * GATHERED_ROWS + 32 * 4
    table = kernel.nests[0].reads[1]
    assert [index.indirect for index in table.map] == [True, False]


def test_a_gather_of_more_rows_than_the_table_has_is_bounded_by_the_table(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<10x64xf32>, %b: tensor<32xi32>) -> tensor<32x64xf32> {
  %e = tensor.empty() : tensor<32x64xf32>
  %0 = iree_linalg_ext.gather dimension_map = [0] ins(%a, %b : tensor<10x64xf32>, tensor<32xi32>)
    outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}""")
    assert compulsory_bytes(bind(kernel, {})) == 10 * 64 * 4 + GATHERED_ROWS + 32 * 4


def test_scatter_adds_into_the_rows_it_hits(read: Read) -> None:
    kernel = read("""
func.func @f(%u: tensor<32x64xf32>, %i: tensor<32xi32>, %t: tensor<1000x64xf32>)
    -> tensor<1000x64xf32> {
  %0 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false)
    ins(%u, %i : tensor<32x64xf32>, tensor<32xi32>) outs(%t : tensor<1000x64xf32>) {
  ^bb0(%new: f32, %old: f32):
    %s = arith.addf %old, %new : f32
    iree_linalg_ext.yield %s : f32
  } -> tensor<1000x64xf32>
  return %0 : tensor<1000x64xf32>
}""")
    (first, *_) = kernel.nests
    assert first.name == "scatter"
    assert flops(bind(kernel, {})) == 32 * 64
    assert [index.indirect for index in first.writes[0].map] == [True, False]


def _winograd(kind: str, source: str, target: str) -> str:
    return f"""
func.func @f(%a: tensor<{source}xf32>) -> tensor<{target}xf32> {{
  %e = tensor.empty() : tensor<{target}xf32>
  %0 = linalg.winograd_{kind}_transform fmr(F_4_3) ins(%a : tensor<{source}xf32>)
    outs(%e : tensor<{target}xf32>) -> tensor<{target}xf32>
  return %0 : tensor<{target}xf32>
}}"""


@pytest.mark.parametrize(
    ("kind", "source", "target", "madds"),
    [
        # F(4, 3): tiles of 6 x 6. B^T d B: two products of 6 x 6 x 6 a tile.
        ("input", "2x6x6x5", "6x6x1x1x2x5", 2 * 5 * (216 + 216)),
        # G g G^T: 6 x 3 x 3, then 6 x 3 x 6.
        ("filter", "7x3x3x5", "6x6x5x7", 7 * 5 * (54 + 108)),
        # A^T m A: 4 x 6 x 6, then 4 x 6 x 4.
        ("output", "6x6x1x1x2x7", "2x4x4x7", 2 * 7 * (144 + 96)),
    ],
)
def test_a_winograd_transform_is_two_small_products_a_tile(
    read: Read, kind: str, source: str, target: str, madds: int
) -> None:
    kernel = read(_winograd(kind, source, target))
    assert kernel.state == "modelled"
    assert flops(bind(kernel, {})) == 2 * madds


def test_irees_own_winograd_transform_counts_the_same(read: Read) -> None:
    """F(6, 3): tiles of 8 x 8, 2 x 2 of them, 128 channels."""
    kernel = read("""
func.func @f(%a: tensor<1x14x14x128xf32>) -> tensor<8x8x1x2x2x128xf32> {
  %e = tensor.empty() : tensor<8x8x1x2x2x128xf32>
  %0 = iree_linalg_ext.winograd.input_transform output_tile_size(6) kernel_size(3)
    image_dimensions([1, 2]) ins(%a : tensor<1x14x14x128xf32>)
    outs(%e : tensor<8x8x1x2x2x128xf32>) -> tensor<8x8x1x2x2x128xf32>
  return %0 : tensor<8x8x1x2x2x128xf32>
}""")
    assert flops(bind(kernel, {})) == 2 * 4 * 128 * (512 + 512)
    assert compulsory_bytes(bind(kernel, {})) == 4 * 128 * (14 * 14 + 64 * 4)
