"""Loops repeat their nests; what is not understood is bounded by its bytes and named."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from xpu_shark.passes.bridge import read_kernel as module
from xpu_shark.passes.bridge.ops.registry import READERS
from xpu_shark.simulator.bind import bind, kernel_symbols
from xpu_shark.simulator.symbolic import UnboundError
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import Kernel

Read = Callable[[str], Kernel]
TILED = """
func.func @f(%a: tensor<64x128xf32>, %b: tensor<128x32xf32>) -> tensor<64x32xf32> {
  %e = tensor.empty() : tensor<64x32xf32>
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r = scf.for %k = %c0 to %c128 step %c16 iter_args(%acc = %i) -> (tensor<64x32xf32>) {
    %x = tensor.extract_slice %a[0, %k] [64, 16] [1, 1] : tensor<64x128xf32> to tensor<64x16xf32>
    %y = tensor.extract_slice %b[%k, 0] [16, 32] [1, 1] : tensor<128x32xf32> to tensor<16x32xf32>
    %0 = linalg.matmul ins(%x, %y : tensor<64x16xf32>, tensor<16x32xf32>)
      outs(%acc : tensor<64x32xf32>) -> tensor<64x32xf32>
    scf.yield %0 : tensor<64x32xf32>
  }
  return %r : tensor<64x32xf32>
}"""
WHILE = """
func.func @f(%a: tensor<64xf32>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %c0 = arith.constant 0 : index
  %t = arith.constant 1.0 : f32
  %r = scf.while (%x = %a) : (tensor<64xf32>) -> tensor<64xf32> {
    %v = tensor.extract %x[%c0] : tensor<64xf32>
    %p = arith.cmpf olt, %v, %t : f32
    scf.condition(%p) %x : tensor<64xf32>
  } do {
  ^bb0(%y: tensor<64xf32>):
    %0 = linalg.elementwise <exp> ins(%y : tensor<64xf32>) outs(%e : tensor<64xf32>)
      -> tensor<64xf32>
    scf.yield %0 : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}"""
SCALAR = """
func.func @f(%a: memref<8x4xf32>, %b: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %x = memref.load %a[%i, %j] : memref<8x4xf32>
      %y = math.exp %x : f32
      memref.store %y, %b[%j, %i] : memref<4x8xf32>
    }
  }
  return
}"""


def test_a_tiled_matmul_is_as_much_as_a_whole_one(read: Read) -> None:
    kernel = read(TILED)
    assert kernel.state == "modelled"
    assert kernel.nests[0].trips == 128 // 16
    assert flops(bind(kernel, {})) == 2 * 64 * 32 * 128
    assert compulsory_bytes(bind(kernel, {})) == 4 * (64 * 128 + 128 * 32 + 64 * 32)


def test_the_accumulator_of_a_loop_is_stored_after_it(read: Read) -> None:
    loop, store = read(TILED).nests
    kernel = read(TILED)
    assert [kernel.tensors[access.tensor].storage for access in loop.writes] == ["local"]
    assert store.trips == 1
    assert kernel.tensors[store.writes[0].tensor].storage == "global"


def test_a_trip_count_that_is_data_is_a_symbol_of_the_kernel(read: Read) -> None:
    kernel = read(WHILE)
    assert kernel.state == "modelled"
    with pytest.raises(UnboundError, match=r"no value for f\.trip"):
        flops(bind(kernel, {}))
    assert flops(bind(kernel, {"f.trip": 5})) == 5 * 64


RAGGED = """
func.func @f(%x: tensor<4x16xf32>, %lengths: tensor<4xi32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %sums = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %empty) -> (tensor<4xf32>) {
    %n = tensor.extract %lengths[%i] : tensor<4xi32>
    %end = arith.index_cast %n : i32 to index
    %sum = scf.for %j = %c0 to %end step %c1 iter_args(%s = %zero) -> (f32) {
      %v = tensor.extract %x[%i, %j] : tensor<4x16xf32>
      %t = arith.addf %s, %v : f32
      scf.yield %t : f32
    }
    %next = tensor.insert %sum into %acc[%i] : tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  return %sums : tensor<4xf32>
}"""


def test_numbers_that_a_loop_carries_are_work_of_each_of_its_turns(read: Read) -> None:
    kernel = read(RAGGED)
    assert kernel.state == "modelled"
    # lengths 8, 0, 16 and 3: the loop turns 27 times in 4 entries, an addition each
    assert flops(bind(kernel, {"f.trip2": Fraction(27, 4)})) == 27


LENGTH = """
func.func @f(%x: tensor<16xf32>, %n: tensor<i32>) -> tensor<f32> {
  %length = tensor.extract %n[] : tensor<i32>
  %end = arith.index_cast %length : i32 to index
  %part = tensor.extract_slice %x[0] [%end] [1] : tensor<16xf32> to tensor<?xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%part : tensor<?xf32>) outs(%fill : tensor<f32>)
    dimensions = [0]
  return %sum : tensor<f32>
}"""


def test_a_length_that_is_read_from_a_tensor_is_a_symbol_of_the_kernel(read: Read) -> None:
    kernel = read(LENGTH)
    assert kernel.state == "modelled"
    assert flops(bind(kernel, {"f.trip": 5})) == 5


SAME = """
func.func @f(%x: tensor<?xf32>, %n: tensor<i32>, %out: tensor<64xf32>) -> tensor<?xf32> {
  %length = tensor.extract %n[] : tensor<i32>
  %end = arith.index_cast %length : i32 to index
  %part = tensor.extract_slice %out[0] [%end] [1] : tensor<64xf32> to tensor<?xf32>
  %sum = linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]
  } ins(%x : tensor<?xf32>) outs(%part : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  return %sum : tensor<?xf32>
}"""


def test_a_length_that_equals_a_known_size_is_that_size(read: Read) -> None:
    kernel = read(SAME)
    assert kernel_symbols(kernel) == ("arg0.0",)
    assert flops(bind(kernel, {"arg0.0": 5})) == 5


def test_loops_over_single_elements_are_one_nest(read: Read) -> None:
    kernel = read(SCALAR)
    (nest,) = kernel.nests
    assert [dim.extent for dim in nest.dims] == [8, 4]
    assert flops(bind(kernel, {})) == 32
    assert compulsory_bytes(bind(kernel, {})) == 2 * 32 * 4


UNKNOWN = """
func.func @f(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = chlo.erf_inv %a : tensor<8x8xf32> -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}"""


def test_an_unknown_op_is_bounded_by_its_bytes_and_named(read: Read) -> None:
    kernel = read(UNKNOWN)
    assert (kernel.state, kernel.reason) == ("partial", "no model of chlo.erf_inv")
    assert compulsory_bytes(bind(kernel, {})) == 2 * 64 * 4


def test_an_unknown_op_in_a_body_is_named(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = vector.broadcast %x : f32 to vector<4xf32>
    %1 = vector.extract %t[0] : f32 from vector<4xf32>
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}""")
    assert kernel.state == "partial"
    assert kernel.reason == "linalg.generic: no cost for vector.broadcast in a body"
    assert compulsory_bytes(bind(kernel, {})) == 2 * 8 * 4


def _fail(*_: object) -> None:
    raise RuntimeError("broken")


def test_a_fault_in_one_reader_keeps_the_bytes(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(READERS, "chlo.erf_inv", _fail)
    kernel = read(UNKNOWN)
    assert kernel.state == "partial"
    assert kernel.reason == "internal: chlo.erf_inv: RuntimeError: broken"
    assert compulsory_bytes(bind(kernel, {})) == 2 * 64 * 4


def test_a_fault_while_reading_is_a_reason_and_not_an_exception(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "read_arguments", _fail)
    kernel = read(UNKNOWN)
    assert (kernel.state, kernel.reason) == ("unmodelled", "internal: f: RuntimeError: broken")


def test_a_window_that_a_loop_moves_covers_all_that_it_passes(read: Read) -> None:
    """64 turns, each summing its own 16 elements of 1024 into its own one of 64."""
    kernel = read("""
func.func @f(%a: memref<1024xf32>, %b: memref<64xf32>) {
  %c16 = arith.constant 16 : index
  %z = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (1024) step (16) {
    %at = arith.divsi %i, %c16 : index
    %s = memref.subview %a[%i] [16] [1]
      : memref<1024xf32> to memref<16xf32, strided<[1], offset: ?>>
    %t = memref.subview %b[%at] [1] [1]
      : memref<64xf32> to memref<f32, strided<[], offset: ?>>
    %x = iree_codegen.load_from_buffer %s
      : memref<16xf32, strided<[1], offset: ?>> -> tensor<16xf32>
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %0 = linalg.reduce { arith.addf } ins(%x : tensor<16xf32>) outs(%f : tensor<f32>)
      dimensions = [0]
    iree_codegen.store_to_buffer %0, %t
      : tensor<f32> into memref<f32, strided<[], offset: ?>>
  }
  return
}""")
    assert kernel.state == "modelled"
    bound = bind(kernel, {})
    assert flops(bound) == 1024
    assert compulsory_bytes(bound) == 4 * (1024 + 64)
