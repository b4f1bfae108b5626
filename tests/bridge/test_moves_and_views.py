"""Moves cost bytes and no work; views cost neither and stay linear where they can."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.footprint import region
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import Index, Kernel

Read = Callable[[str], Kernel]


def _index(*terms: tuple[int, int]) -> Index:
    return Index(terms=terms)


PACK = """
func.func @f(%a: tensor<128x250xf32>) -> tensor<16x32x8x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x32x8x8xf32>
  %0 = linalg.pack %a padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [8, 8]
    into %e : tensor<128x250xf32> -> tensor<16x32x8x8xf32>
  return %0 : tensor<16x32x8x8xf32>
}"""
UNPACK = """
func.func @f(%a: tensor<16x32x8x8xf32>) -> tensor<128x250xf32> {
  %e = tensor.empty() : tensor<128x250xf32>
  %0 = linalg.unpack %a inner_dims_pos = [0, 1] inner_tiles = [8, 8]
    into %e : tensor<16x32x8x8xf32> -> tensor<128x250xf32>
  return %0 : tensor<128x250xf32>
}"""
PAD = """
func.func @f(%a: tensor<6x10xf32>) -> tensor<8x16xf32> {
  %z = arith.constant 0.0 : f32
  %0 = tensor.pad %a low[1, 2] high[1, 4] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<6x10xf32> to tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}"""
CONCAT = """
func.func @f(%a: tensor<6x10xf32>, %b: tensor<6x4xf32>) -> tensor<6x14xf32> {
  %0 = tensor.concat dim(1) %a, %b : (tensor<6x10xf32>, tensor<6x4xf32>) -> tensor<6x14xf32>
  return %0 : tensor<6x14xf32>
}"""
TRANSPOSE = """
func.func @f(%a: tensor<6x10xf32>) -> tensor<10x6xf32> {
  %e = tensor.empty() : tensor<10x6xf32>
  %0 = linalg.transpose ins(%a : tensor<6x10xf32>) outs(%e : tensor<10x6xf32>)
    permutation = [1, 0]
  return %0 : tensor<10x6xf32>
}"""
IM2COL = """
func.func @f(%a: tensor<2x34x34x640xf32>) -> tensor<2x1024x5760xf32> {
  %e = tensor.empty() : tensor<2x1024x5760xf32>
  %0 = iree_linalg_ext.im2col strides = [1, 1] dilations = [1, 1] kernel_size = [3, 3]
    offsets = [0, 0, 0] output_sizes = [[2], [32, 32], [3, 3, 640]] batch_pos = [0]
    m_pos = [1, 2] k_pos = [3] input_k_perm = [0, 1, 2] output_perm = [0, 1, 2]
    ins(%a : tensor<2x34x34x640xf32>) outs(%e : tensor<2x1024x5760xf32>)
    -> tensor<2x1024x5760xf32>
  return %0 : tensor<2x1024x5760xf32>
}"""
COPY = """
func.func @f(%a: tensor<6x10xf32>) -> tensor<6x10xf32> {
  return %a : tensor<6x10xf32>
}"""
MAP_STORE = """
func.func @f(%a: tensor<1x6x10xf32>) -> tensor<6x10xf32> {
  %true = arith.constant true
  %e = tensor.empty() : tensor<6x10xf32>
  %0 = iree_linalg_ext.map_store %a into %e {
  ^bb0(%i: index, %j: index, %k: index):
    %p = affine.linearize_index disjoint [%i, %j] by (1, 6) : index
    iree_linalg_ext.yield %p, %k, %true : index, index, i1
  } : tensor<1x6x10xf32> into tensor<6x10xf32> -> tensor<6x10xf32>
  return %0 : tensor<6x10xf32>
}"""


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        (PACK, 128 * 250 + 128 * 256),
        (UNPACK, 128 * 256 + 128 * 250),
        (PAD, 6 * 10 + 8 * 16),
        (CONCAT, 2 * 6 * 14),
        (TRANSPOSE, 2 * 60),
        (IM2COL, 2 * 34 * 34 * 640 + 2 * 1024 * 5760),
        (COPY, 2 * 60),
        (MAP_STORE, 2 * 60),
    ],
    ids=["pack", "unpack", "pad", "concat", "transpose", "im2col", "copy", "map_store"],
)
def test_a_move_reads_its_source_and_writes_its_result(
    read: Read, text: str, elements: int
) -> None:
    kernel = read(text)
    assert kernel.state == "modelled"
    assert flops(bind(kernel, {})) == 0
    assert compulsory_bytes(bind(kernel, {})) == 4 * elements


def test_a_pack_walks_its_source_tile_by_tile(read: Read) -> None:
    (nest,) = read(PACK).nests
    assert nest.reads[0].map == (_index((0, 8), (2, 1)), _index((1, 8), (3, 1)))


def test_inserting_into_a_filled_array_needs_the_fill(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<6x10xf32>) -> tensor<8x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = tensor.insert_slice %a into %i[1, 2] [6, 10] [1, 1]
    : tensor<6x10xf32> into tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}""")
    assert [nest.name for nest in kernel.nests] == ["fill", "insert_slice"]
    assert compulsory_bytes(bind(kernel, {})) == 4 * (60 + 128)


def test_a_slice_of_an_expanded_array_is_one_linear_index(read: Read) -> None:
    """Every second row of 6 x 10: row i of 3 starts at 20 i."""
    kernel = read("""
func.func @f(%a: tensor<60xf32>) -> tensor<3x10xf32> {
  %e = tensor.empty() : tensor<3x10xf32>
  %x = tensor.expand_shape %a [[0, 1]] output_shape [6, 10] : tensor<60xf32> into tensor<6x10xf32>
  %s = tensor.extract_slice %x[0, 0] [3, 10] [2, 1] : tensor<6x10xf32> to tensor<3x10xf32>
  %0 = linalg.elementwise <exp> ins(%s : tensor<3x10xf32>) outs(%e : tensor<3x10xf32>)
    -> tensor<3x10xf32>
  return %0 : tensor<3x10xf32>
}""")
    (nest,) = kernel.nests
    assert sorted(nest.reads[0].map[0].terms) == [(0, 20), (1, 1)]
    assert compulsory_bytes(bind(kernel, {})) == 4 * (30 + 30)


def test_a_collapse_connects_producer_and_consumer(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<6x10xf32>) -> tensor<60xf32> {
  %e = tensor.empty() : tensor<6x10xf32>
  %g = tensor.empty() : tensor<60xf32>
  %0 = linalg.elementwise <exp> ins(%a : tensor<6x10xf32>) outs(%e : tensor<6x10xf32>)
    -> tensor<6x10xf32>
  %c = tensor.collapse_shape %0 [[0, 1]] : tensor<6x10xf32> into tensor<60xf32>
  %1 = linalg.elementwise <exp> ins(%c : tensor<60xf32>) outs(%g : tensor<60xf32>)
    -> tensor<60xf32>
  return %1 : tensor<60xf32>
}""")
    first, second = kernel.nests
    between = first.writes[0].tensor
    assert kernel.tensors[between].shape == (60,)
    assert second.reads[0].tensor == between
    assert sorted(first.writes[0].map[0].terms) == [(0, 10), (1, 1)]


@pytest.mark.parametrize(
    ("window", "type_", "contiguous"),
    [
        ("[1, 2] [8, 8] [1, 1]", "8x8xf32, strided<[16, 1], offset: 18>", 8),
        ("[1, 0] [8, 16] [1, 1]", "8x16xf32, strided<[16, 1], offset: 16>", 0),
        ("[0, 0] [8, 4] [1, 2]", "8x4xf32, strided<[16, 2]>", 1),
        ("[3, 4] [1, 8] [1, 1]", "8xf32, strided<[1], offset: 52>", 0),
    ],
)
def test_a_window_knows_how_many_elements_lie_together(
    read: Read, window: str, type_: str, contiguous: int
) -> None:
    shape = type_.partition(",")[0]
    kernel = read(f"""
func.func @f(%a: memref<{shape}>, %b: memref<16x16xf32>) {{
  %s = memref.subview %b{window} : memref<16x16xf32> to memref<{type_}>
  memref.copy %a, %s : memref<{shape}> to memref<{type_}>
  return
}}""")
    (write,) = kernel.nests[0].writes
    assert kernel.tensors[write.tensor].contiguous == contiguous


def test_every_third_element_of_a_row_is_read_with_what_lies_between(read: Read) -> None:
    """16 of 48 columns, 0 to 45: compulsory are the 16, a transfer takes the row."""
    kernel = read("""
func.func @f(%a: memref<64x48xf32>) -> tensor<32x16xf32> {
  %s = memref.subview %a[0, 0] [32, 16] [2, 3]
    : memref<64x48xf32> to memref<32x16xf32, strided<[96, 3]>>
  %x = iree_codegen.load_from_buffer %s
    : memref<32x16xf32, strided<[96, 3]>> -> tensor<32x16xf32>
  %e = tensor.empty() : tensor<32x16xf32>
  %0 = linalg.elementwise <exp> ins(%x : tensor<32x16xf32>) outs(%e : tensor<32x16xf32>)
    -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}""")
    (access,) = kernel.nests[0].reads
    assert access.map == (_index((0, 1)), _index((1, 3)))
    assert kernel.tensors[access.tensor].shape == (32, 46)
    bound = bind(kernel, {})
    assert compulsory_bytes(bound) == 4 * 2 * 32 * 16
    part = region(bound.tensors[access.tensor], access, (32, 16))
    assert (part.runs, part.run_bytes) == (32, 46 * 4)


def test_a_column_is_read_an_element_at_a_time(read: Read) -> None:
    kernel = read("""
func.func @f(%a: memref<64x48xf32>) -> tensor<64xf32> {
  %s = memref.subview %a[0, 5] [64, 1] [1, 1]
    : memref<64x48xf32> to memref<64xf32, strided<[48], offset: 5>>
  %x = iree_codegen.load_from_buffer %s
    : memref<64xf32, strided<[48], offset: 5>> -> tensor<64xf32>
  %e = tensor.empty() : tensor<64xf32>
  %0 = linalg.elementwise <exp> ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>)
    -> tensor<64xf32>
  return %0 : tensor<64xf32>
}""")
    (access,) = kernel.nests[0].reads
    part = region(bind(kernel, {}).tensors[access.tensor], access, (64,))
    assert (part.runs, part.run_bytes) == (64, 4)


def test_two_halves_of_one_array_are_two_parts(read: Read) -> None:
    """Gated units: the first half of a row times the second."""
    kernel = read("""
func.func @f(%a: tensor<64x48xf32>) -> tensor<64x24xf32> {
  %e = tensor.empty() : tensor<64x24xf32>
  %x = tensor.extract_slice %a[0, 0] [64, 24] [1, 1] : tensor<64x48xf32> to tensor<64x24xf32>
  %y = tensor.extract_slice %a[0, 24] [64, 24] [1, 1] : tensor<64x48xf32> to tensor<64x24xf32>
  %0 = linalg.elementwise <mul> ins(%x, %y : tensor<64x24xf32>, tensor<64x24xf32>)
    outs(%e : tensor<64x24xf32>) -> tensor<64x24xf32>
  return %0 : tensor<64x24xf32>
}""")
    (nest,) = kernel.nests
    assert [access.map[1] for access in nest.reads] == [
        Index(terms=((1, 1),)),
        Index(terms=((1, 1),), offset=24),
    ]
    assert compulsory_bytes(bind(kernel, {})) == 4 * (64 * 48 + 64 * 24)


def test_a_slice_of_a_slice_adds_its_offsets(read: Read) -> None:
    """Every second element from 3 on, and of those from the fourth on: 3 + 2 x 4."""
    kernel = read("""
func.func @f(%a: tensor<60xf32>) -> tensor<10xf32> {
  %e = tensor.empty() : tensor<10xf32>
  %x = tensor.extract_slice %a[3] [20] [2] : tensor<60xf32> to tensor<20xf32>
  %y = tensor.extract_slice %x[4] [10] [1] : tensor<20xf32> to tensor<10xf32>
  %0 = linalg.elementwise <exp> ins(%y : tensor<10xf32>) outs(%e : tensor<10xf32>)
    -> tensor<10xf32>
  return %0 : tensor<10xf32>
}""")
    assert kernel.nests[0].reads[0].map == (Index(terms=((0, 2),), offset=11),)
