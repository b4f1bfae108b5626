"""Reductions, softmax, pooling and elementwise bodies."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import Kernel

Read = Callable[[str], Kernel]


def _reduction(keep: str, out: str, body: str = "arith.addf") -> str:
    return f"""
func.func @f(%a: tensor<37x64xf32>) -> tensor<{out}xf32> {{
  %e = tensor.empty() : tensor<{out}xf32>
  %z = arith.constant 0.0 : f32
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<{out}xf32>) -> tensor<{out}xf32>
  %0 = linalg.generic {{
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ({keep})>],
    iterator_types = [{'"parallel", "reduction"' if keep == "d0" else '"reduction", "parallel"'}]}}
    ins(%a : tensor<37x64xf32>) outs(%i : tensor<{out}xf32>) {{
  ^bb0(%x: f32, %o: f32):
    %1 = {body} %x, %o : f32
    linalg.yield %1 : f32
  }} -> tensor<{out}xf32>
  return %0 : tensor<{out}xf32>
}}"""


@pytest.mark.parametrize(("keep", "out"), [("d0", 37), ("d1", 64)])
@pytest.mark.parametrize("body", ["arith.addf", "arith.maximumf"])
def test_a_reduction_is_one_operation_an_element(
    read: Read, keep: str, out: int, body: str
) -> None:
    kernel = read(_reduction(keep, str(out), body))
    (nest,) = kernel.nests
    assert [dim.kind for dim in nest.dims].count("reduction") == 1
    assert flops(bind(kernel, {})) == 37 * 64
    assert compulsory_bytes(bind(kernel, {})) == 4 * (37 * 64 + out)


def test_softmax_is_five_operations_an_element_and_touches_memory_twice(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<12x50257xf32>) -> tensor<12x50257xf32> {
  %e = tensor.empty() : tensor<12x50257xf32>
  %0 = linalg.softmax dimension(1) ins(%a : tensor<12x50257xf32>)
    outs(%e : tensor<12x50257xf32>) -> tensor<12x50257xf32>
  return %0 : tensor<12x50257xf32>
}""")
    assert flops(bind(kernel, {})) == 5 * 12 * 50257  # max, subtract, exp, sum, divide
    assert compulsory_bytes(bind(kernel, {})) == 2 * 4 * 12 * 50257


def test_pooling_reads_its_image_and_not_its_window(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<1x113x113x64xf32>) -> tensor<1x56x56x64xf32> {
  %e = tensor.empty() : tensor<1x56x56x64xf32>
  %w = tensor.empty() : tensor<3x3xf32>
  %z = arith.constant 0xFF800000 : f32
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32>
  %0 = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>}
    ins(%a, %w : tensor<1x113x113x64xf32>, tensor<3x3xf32>)
    outs(%i : tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32>
  return %0 : tensor<1x56x56x64xf32>
}""")
    assert kernel.nests[0].contraction is None
    assert flops(bind(kernel, {})) == 56 * 56 * 64 * 9
    assert compulsory_bytes(bind(kernel, {})) == 4 * 64 * (113 * 113 + 56 * 56)


def test_a_fused_body_counts_each_kind_in_its_type(read: Read) -> None:
    """exp((x - m) * 0.5) with a comparison: index arithmetic and comparisons are no flops."""
    kernel = read("""
func.func @f(%a: tensor<8x8xbf16>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %h = arith.constant 0.5 : f32
  %0 = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<8x8xbf16>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%x: bf16, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.addi %i, %j : index
    %p = arith.cmpi sge, %k, %j : index
    %1 = arith.extf %x : bf16 to f32
    %2 = arith.subf %1, %h : f32
    %3 = arith.mulf %2, %h : f32
    %4 = math.exp %3 : f32
    %5 = arith.select %p, %4, %h : f32
    linalg.yield %5 : f32
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}""")
    work = {(item.kind, item.element): item.count for item in kernel.nests[0].work}
    assert work == {
        ("index", "index"): 2,
        ("convert", "f32"): 1,
        ("add", "f32"): 1,
        ("mul", "f32"): 1,
        ("exp", "f32"): 1,
        ("select", "f32"): 1,
    }
    assert flops(bind(kernel, {})) == 3 * 64
    assert compulsory_bytes(bind(kernel, {})) == 64 * (2 + 4)


def test_a_tensor_between_two_nests_costs_no_memory_traffic(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %e = tensor.empty() : tensor<16x32xf32>
  %1 = linalg.elementwise <exp> ins(%a : tensor<16x32xf32>)
    outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
  %2 = linalg.elementwise <add> ins(%1, %1 : tensor<16x32xf32>, tensor<16x32xf32>)
    outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %2 : tensor<16x32xf32>
}""")
    assert [nest.name for nest in kernel.nests] == ["elementwise", "elementwise"]
    assert [tensor.storage for tensor in kernel.tensors] == ["global", "local", "global"]
    assert kernel.nests[0].writes[0].tensor == kernel.nests[1].reads[0].tensor
    assert compulsory_bytes(bind(kernel, {})) == 2 * 4 * 16 * 32
    assert flops(bind(kernel, {})) == 2 * 16 * 32


def test_a_value_both_stored_and_used_is_written_once_and_not_read_back(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64xf32>
  %1 = linalg.elementwise <exp> ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %2 = linalg.elementwise <exp> ins(%1 : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  return %1, %2 : tensor<64xf32>, tensor<64xf32>
}""")
    assert compulsory_bytes(bind(kernel, {})) == 3 * 64 * 4


def test_a_stored_fill_is_a_nest_without_work(read: Read) -> None:
    kernel = read("""
func.func @f() -> tensor<64x3xbf16> {
  %e = tensor.empty() : tensor<64x3xbf16>
  %z = arith.constant 0.0 : bf16
  %0 = linalg.fill ins(%z : bf16) outs(%e : tensor<64x3xbf16>) -> tensor<64x3xbf16>
  return %0 : tensor<64x3xbf16>
}""")
    (nest,) = kernel.nests
    assert (nest.name, nest.work, nest.reads) == ("fill", (), ())
    assert compulsory_bytes(bind(kernel, {})) == 2 * 64 * 3


def test_a_custom_op_is_the_ops_in_it(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<4x8xf32>, %e: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = iree_linalg_ext.custom_op {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = [#iree_linalg_ext.iterator_type<parallel>,
                      #iree_linalg_ext.iterator_type<parallel>]}
    ins(%a : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>):
    %z = linalg.elementwise <exp> ins(%x : tensor<?x?xf32>) outs(%y : tensor<?x?xf32>)
      -> tensor<?x?xf32>
    iree_linalg_ext.yield %z : tensor<?x?xf32>
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}""")
    assert flops(bind(kernel, {})) == 32
    assert compulsory_bytes(bind(kernel, {})) == 2 * 32 * 4


def test_an_exp_reduction_is_one_pass(read: Read) -> None:
    """Maximum, distance, exponential and the sum of the body: 4 operations an element."""
    kernel = read("""
func.func @f(%a: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %m = tensor.empty() : tensor<4xf32>
  %0:2 = iree_linalg_ext.exp_reduction {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
                     affine_map<(d0, d1) -> (d0)>],
    iterator_types = [#iree_linalg_ext.iterator_type<parallel>,
                      #iree_linalg_ext.iterator_type<reduction>],
    exp_reduced_operands = [1]}
    ins(%a : tensor<4x8xf32>) outs(%m, %m : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %z : f32
    iree_linalg_ext.yield %x, %s : f32, f32
  } -> tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}""")
    assert kernel.state == "modelled"
    assert flops(bind(kernel, {})) == 4 * 32


def test_quantising_divides_rounds_shifts_and_clamps(read: Read) -> None:
    """x / scale, round, + zero point, and two comparisons with the type's limits: 5."""
    kernel = read("""
func.func @f(%a: tensor<4x8xf32>) -> tensor<4x8xi8> {
  %e = tensor.empty() : tensor<4x8xi8>
  %s = arith.constant 0.5 : f32
  %z = arith.constant 1 : i8
  %0 = iree_linalg_ext.quantize_affine <{
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>,
                     affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>],
    quant_min = -128 : i64, quant_max = 127 : i64}>
    ins(%a, %s, %z : tensor<4x8xf32>, f32, i8) outs(%e : tensor<4x8xi8>) -> tensor<4x8xi8>
  return %0 : tensor<4x8xi8>
}""")
    assert flops(bind(kernel, {})) == 5 * 32
    assert compulsory_bytes(bind(kernel, {})) == 32 * (4 + 1)
