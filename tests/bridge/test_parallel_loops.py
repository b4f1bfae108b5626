"""A parallel loop of a dispatch is a parallel dim of its nests, as IREE's split reductions have."""

from __future__ import annotations

from collections.abc import Callable

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import Index, Kernel

Read = Callable[[str], Kernel]
SUM = """
func.func @f(%a: memref<4096xf32>, %out: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %n1 = arith.constant -1 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %r = scf.forall (%i) = (0) to (4096) step (64) shared_outs(%o = %e) -> (tensor<64xf32>) {
    %w = memref.subview %a[%i] [64] [1]
      : memref<4096xf32> to memref<64xf32, strided<[1], offset: ?>>
    %x = iree_codegen.load_from_buffer %w
      : memref<64xf32, strided<[1], offset: ?>> -> tensor<64xf32>
    %below = arith.cmpi slt, %i, %c0 : index
    %back = arith.subi %n1, %i : index
    %size = arith.select %below, %back, %i : index
    %part = arith.divsi %size, %c64 : index
    %s = tensor.extract_slice %o[%part] [1] [1] : tensor<64xf32> to tensor<f32>
    %f = linalg.fill ins(%z : f32) outs(%s : tensor<f32>) -> tensor<f32>
    %0 = linalg.reduce { arith.addf } ins(%x : tensor<64xf32>) outs(%f : tensor<f32>)
      dimensions = [0]
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %0 into %o[%part] [1] [1] : tensor<f32> into tensor<64xf32>
    }
  } {mapping = [#iree_linalg_ext.split_reduction_mapping<0>]}
  iree_codegen.store_to_buffer %r, %out : tensor<64xf32> into memref<64xf32>
  return
}"""
PRODUCT = """
func.func @f(%a: tensor<512x256xf32>, %b: tensor<256x128xf32>) -> tensor<512x128xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x128xf32>
  %r = scf.forall (%i, %j) = (0, 0) to (512, 128) step (32, 64)
      shared_outs(%o = %e) -> (tensor<512x128xf32>) {
    %x = tensor.extract_slice %a[%i, 0] [32, 256] [1, 1]
      : tensor<512x256xf32> to tensor<32x256xf32>
    %y = tensor.extract_slice %b[0, %j] [256, 64] [1, 1]
      : tensor<256x128xf32> to tensor<256x64xf32>
    %n = tensor.empty() : tensor<32x64xf32>
    %f = linalg.fill ins(%z : f32) outs(%n : tensor<32x64xf32>) -> tensor<32x64xf32>
    %0 = linalg.matmul ins(%x, %y : tensor<32x256xf32>, tensor<256x64xf32>)
      outs(%f : tensor<32x64xf32>) -> tensor<32x64xf32>
    %m = tensor.empty() : tensor<32x64xf32>
    %1 = linalg.map { math.exp } ins(%0 : tensor<32x64xf32>) outs(%m : tensor<32x64xf32>)
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %1 into %o[%i, %j] [32, 64] [1, 1]
        : tensor<32x64xf32> into tensor<512x128xf32>
    }
  }
  return %r : tensor<512x128xf32>
}"""


def test_every_part_reads_its_own_elements_and_writes_its_own_sum(read: Read) -> None:
    kernel = read(SUM)
    assert kernel.state == "modelled"
    (nest,) = kernel.nests
    assert [(dim.extent, dim.kind) for dim in nest.dims] == [(64, "parallel"), (64, "reduction")]
    assert nest.trips == 1
    assert nest.reads[0].map[0].terms in (((1, 1), (0, 64)), ((0, 64), (1, 1)))
    assert nest.writes[0].map == (Index(terms=((0, 1),)),)
    assert kernel.tensors[nest.writes[0].tensor].storage == "global"
    bound = bind(kernel, {})
    assert flops(bound) == 4096
    assert compulsory_bytes(bound) == 4 * (4096 + 64)


def test_a_place_that_is_not_linear_in_the_turns_is_known_at_run_time(read: Read) -> None:
    square = "    %square = arith.muli %part, %part : index\n    %s = "
    text = SUM.replace("    %s = ", square)
    kernel = read(text.replace("%o[%part]", "%o[%square]"))
    (nest,) = kernel.nests
    assert nest.writes[0].map == (Index(terms=((0, 1),), indirect=True),)


def test_a_grid_of_two_loops_keeps_what_a_turn_makes_on_chip(read: Read) -> None:
    """16 x 2 turns of a 32 x 256 x 64 product and the exponential of its result."""
    kernel = read(PRODUCT)
    product, exp = kernel.nests
    assert [dim.extent for dim in product.dims] == [16, 2, 32, 64, 256]
    assert product.contraction is not None
    assert product.contraction.batch == (0, 1)
    between = kernel.tensors[product.writes[0].tensor]
    assert (between.storage, between.shape) == ("local", (16, 2, 32, 64))
    assert [index.terms for index in exp.writes[0].map] == [((2, 1), (0, 32)), ((3, 1), (1, 64))]
    bound = bind(kernel, {})
    assert flops(bound) == 2 * 512 * 256 * 128 + 512 * 128
    assert compulsory_bytes(bound) == 4 * (512 * 256 + 256 * 128 + 512 * 128)
