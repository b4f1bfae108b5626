"""Loops that a body takes apart by division and remainder are read as loops over the digits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.footprint import region
from xpu_shark.simulator.work import compulsory_bytes
from xpu_shark.simulator.workload import Index, Kernel, TileLevel

Read = Callable[[str], Kernel]

GATHER = """
func.func @f(%table: tensor<1000x48xf32>, %rows: tensor<37xi32>) -> tensor<1776xf32> {
  %c48 = arith.constant 48 : index
  %e = tensor.empty() : tensor<1776xf32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    outs(%e : tensor<1776xf32>) attrs = {lowering_config =
      #iree_cpu.lowering_config<distribution = [96], vector_common_parallel = [4]>} {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %column = arith.remsi %i, %c48 : index
    %row = arith.divsi %i, %c48 : index
    %picked = tensor.extract %rows[%row] : tensor<37xi32>
    %at = arith.index_cast %picked : i32 to index
    %v = tensor.extract %table[%at, %column] : tensor<1000x48xf32>
    linalg.yield %v : f32
  } -> tensor<1776xf32>
  return %0 : tensor<1776xf32>
}"""


def _reversed(digits: str) -> str:
    """A flat loop of 60 whose digits, `%a` < 3, `%b` < 4 and `%c` < 5, index backwards."""
    return f"""
func.func @f(%x: tensor<3x4x5xf32>) -> tensor<60xf32> {{
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c20 = arith.constant 20 : index
  %e = tensor.empty() : tensor<60xf32>
  %0 = linalg.generic {{
    indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}}
    outs(%e : tensor<60xf32>) {{
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    {digits}
    %p = arith.subi %c2, %a : index
    %q = arith.subi %c3, %b : index
    %r = arith.subi %c4, %c : index
    %v = tensor.extract %x[%p, %q, %r] : tensor<3x4x5xf32>
    linalg.yield %v : f32
  }} -> tensor<60xf32>
  return %0 : tensor<60xf32>
}}"""


DIVIDED = """%c = arith.remui %i, %c5 : index
    %t = arith.divui %i, %c5 : index
    %b = arith.remui %t, %c4 : index
    %a = arith.divui %i, %c20 : index"""
LINEAR = "%a, %b, %c = affine.delinearize_index %i into (3, 4, 5) : index, index, index"
OUTER_FREE = "%a, %b, %c = affine.delinearize_index %i into (4, 5) : index, index, index"


def test_a_flat_gather_picks_whole_rows(read: Read) -> None:
    kernel = read(GATHER)
    (nest,) = kernel.nests
    assert [dim.extent for dim in nest.dims] == [37, 48]
    table = next(a for a in nest.reads if kernel.tensors[a.tensor].shape == (1000, 48))
    assert table.map == (Index(terms=((0, 1),), indirect=True), Index(terms=((1, 1),)))
    assert nest.writes[0].map == (Index(terms=((0, 48), (1, 1))),)
    bound = bind(kernel, {})
    part = region(bound.tensors[table.tensor], table, (37, 48))
    assert (part.runs, part.run_bytes) == (37, 48 * 4)
    assert compulsory_bytes(bound) == 4 * (37 * 48 + 37 + 37 * 48)


def test_tile_sizes_follow_the_digits(read: Read) -> None:
    """96 of the flat loop are 2 rows of 48; 4 are 4 columns of one row."""
    (nest,) = read(GATHER).nests
    assert nest.tiles == (
        TileLevel(name="distribution", sizes=(2, 48)),
        TileLevel(name="vector_common_parallel", sizes=(1, 4)),
    )


@pytest.mark.parametrize("digits", [DIVIDED, LINEAR, OUTER_FREE])
def test_a_reversed_array_is_read_linearly(read: Read, digits: str) -> None:
    kernel = read(_reversed(digits))
    (nest,) = kernel.nests
    assert [dim.extent for dim in nest.dims] == [3, 4, 5]
    assert nest.reads[0].map == tuple(
        Index(terms=((dim, -1),), offset=last) for dim, last in enumerate((2, 3, 4))
    )
    assert nest.writes[0].map == (Index(terms=((0, 20), (1, 5), (2, 1))),)


def test_digits_that_do_not_nest_stay_run_time_positions(read: Read) -> None:
    """By 4 and by 5 of one loop: no loops of their own give both."""
    digits = """%a = arith.divui %i, %c20 : index
    %b = arith.remui %i, %c4 : index
    %c = arith.remui %i, %c5 : index"""
    (nest,) = read(_reversed(digits)).nests
    assert [dim.extent for dim in nest.dims] == [60]
    assert all(index.indirect for index in nest.reads[0].map)


def _packed(columns: int) -> str:
    """An array of 64 x `columns` stored in tiles of 16 x 16."""
    outer = -(-columns // 16)
    return f"""
func.func @f(%x: tensor<64x{columns}xf32>) -> tensor<4x{outer}x16x16xf32> {{
  %true = arith.constant true
  %e = tensor.empty() : tensor<4x{outer}x16x16xf32>
  %0 = iree_linalg_ext.map_store %x into %e {{
  ^bb0(%i: index, %j: index):
    %p:2 = affine.delinearize_index %i into (4, 16) : index, index
    %q:2 = affine.delinearize_index %j into ({outer}, 16) : index, index
    iree_linalg_ext.yield %p#0, %q#0, %p#1, %q#1, %true : index, index, index, index, i1
  }} : tensor<64x{columns}xf32> into tensor<4x{outer}x16x16xf32> -> tensor<4x{outer}x16x16xf32>
  return %0 : tensor<4x{outer}x16x16xf32>
}}"""


def test_a_store_into_tiles_is_linear(read: Read) -> None:
    kernel = read(_packed(48))
    (nest,) = kernel.nests
    assert [dim.extent for dim in nest.dims] == [4, 16, 3, 16]
    assert nest.writes[0].map == tuple(Index(terms=((dim, 1),)) for dim in (0, 2, 1, 3))
    assert nest.reads[0].map == (Index(terms=((0, 16), (1, 1))), Index(terms=((2, 16), (3, 1))))
    assert compulsory_bytes(bind(kernel, {})) == 2 * 4 * 64 * 48


def test_a_last_tile_that_is_cut_short_counts_its_own_elements(read: Read) -> None:
    """40 columns in tiles of 16: three tiles, the last half full."""
    kernel = read(_packed(40))
    (nest,) = kernel.nests
    assert [dim.extent for dim in nest.dims] == [4, 16, 3, 16]
    assert nest.points == 64 * 40
    assert compulsory_bytes(bind(kernel, {})) == 4 * (64 * 40 + 64 * 48)
