"""Matrix products on tiles in an instruction's own layout, as data tiling for rocm writes them."""

from __future__ import annotations

from collections.abc import Callable

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import Kernel

Read = Callable[[str], Kernel]


def _product(lhs: str, rhs: str, kind: str) -> str:
    return f"""
#accesses = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
             affine_map<(i, j, k) -> (i, j)>]
func.func @f(%a: tensor<{lhs}>, %b: tensor<{rhs}>) -> tensor<5x6x4x16x4xf32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x6x4x16x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<5x6x4x16x4xf32>) -> tensor<5x6x4x16x4xf32>
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%i) <indexing_maps = #accesses,
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>,
                      #linalg.iterator_type<reduction>],
    kind = {kind}, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>>
    : tensor<{lhs}>, tensor<{rhs}> into tensor<5x6x4x16x4xf32>
  return %0 : tensor<5x6x4x16x4xf32>
}}"""


MFMA = (
    "#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16, intrinsics_k = 2, "
    "operands_interleaving_intrinsics_k = [0, 1]>"
)


def test_inner_tiles_are_a_contraction_of_all_rows_columns_and_depth(read: Read) -> None:
    """Tiles of 16 x 32 (512 elements) by 32 x 16 into 16 x 16: 5 x 6 of them, 7 deep."""
    kernel = read(_product("5x7x4x16x2x4xf16", "6x7x4x16x2x4xf16", MFMA))
    assert kernel.state == "modelled"
    nest = kernel.nests[-1]
    assert nest.contraction is not None
    roles = nest.contraction
    extents = [dim.extent for dim in nest.dims]
    assert [[extents[d] for d in dims] for dims in (roles.m, roles.n, roles.k)] == [
        [5, 16],
        [6, 16],
        [7, 32],
    ]
    assert (roles.lhs_element, roles.rhs_element, roles.accumulator) == ("f16", "f16", "f32")
    bound = bind(kernel, {})
    assert flops(bound) == 2 * (5 * 16) * (6 * 16) * (7 * 32)
    assert compulsory_bytes(bound) == 2 * 512 * 7 * (5 + 6) + 4 * 5 * 6 * 256
