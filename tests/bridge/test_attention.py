"""Attention: five or six nests that share tensors on chip."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from xpu_shark.passes.bridge.ops.attention import triangle
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.symbolic import evaluate, symbol
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import Kernel

Read = Callable[[str], Kernel]
BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 8, 128, 256, 64
PLAIN = "iree_linalg_ext.yield %x : f32"
CAUSAL = """
  %i = iree_linalg_ext.index 2 : index
  %j = iree_linalg_ext.index 5 : index
  %p = arith.cmpi sge, %i, %j : index
  %w = arith.select %p, %x, %low : f32
  iree_linalg_ext.yield %w : f32"""


def _attention(body: str = PLAIN, mask: str = "") -> str:
    loops = "b, h, m, n, k1, k2"
    map_ = f"affine_map<({loops}) -> ({{}})>"
    maps = [map_.format(x) for x in ("b, h, m, k1", "b, h, k2, k1", "b, h, k2, n", "")]
    q, kv = f"tensor<{BATCH}x8x{QUERIES}x64xf16>", f"tensor<{BATCH}x8x{KEYS}x64xf16>"
    inputs, types = "%q, %k, %v, %s", f"{q}, {kv}, {kv}, f16"
    extra = ""
    if mask:
        maps.append(map_.format("m, k2"))
        inputs, types = inputs + ", %mask", f"{types}, tensor<{QUERIES}x{KEYS}x{mask}>"
        extra = f", %mask: tensor<{QUERIES}x{KEYS}x{mask}>"
    maps.append(map_.format("b, h, m, n"))
    return f"""
func.func @f(%q: {q}, %k: {kv}, %v: {kv}, %s: f16{extra}) -> {q} {{
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : {q}
  %0 = iree_linalg_ext.attention <{{indexing_maps = [{", ".join(maps)}]}}>
    ins({inputs} : {types}) outs(%e : {q}) {{
  ^bb0(%x: f32):
    {body}
  }} -> {q}
  return %0 : {q}
}}"""


def _flops(pairs: int) -> int:
    """Of `pairs` of a query and a key in one head: two products of WIDTH, and the softmax.

    A score is scaled, compared with the maximum, subtracted, raised, and summed: 5. An output
    is divided once.
    """
    heads = BATCH * HEADS
    return heads * (pairs * (2 * 2 * WIDTH + 5) + QUERIES * WIDTH)


def test_attention_counts_both_products_and_the_softmax(read: Read) -> None:
    kernel = read(_attention())
    assert kernel.state == "modelled"
    assert kernel.online
    assert flops(bind(kernel, {})) == _flops(QUERIES * KEYS)


def test_scores_and_weights_never_reach_memory(read: Read) -> None:
    kernel = read(_attention())
    rows = BATCH * HEADS * WIDTH * 2  # bytes of one query, key or value in all heads
    assert compulsory_bytes(bind(kernel, {})) == rows * (2 * QUERIES + 2 * KEYS)


def test_both_products_are_contractions_over_their_own_loops(read: Read) -> None:
    kernel = read(_attention())
    products = [nest for nest in kernel.nests if nest.contraction]
    assert [nest.name for nest in products] == ["attention.qk", "attention.pv"]
    for nest, n, k in zip(products, (KEYS, WIDTH), (WIDTH, KEYS), strict=True):
        roles = nest.contraction
        assert roles is not None
        assert [nest.dims[dim].extent for dim in roles.batch] == [BATCH, HEADS]
        assert [nest.dims[dim].extent for dim in (*roles.m, *roles.n, *roles.k)] == [QUERIES, n, k]
        assert (roles.lhs_element, roles.rhs_element) == ("f16", "f16")


def test_a_mask_operand_is_read_and_added(read: Read) -> None:
    kernel = read(_attention(mask="f16"))
    plain = read(_attention())
    pairs = BATCH * HEADS * QUERIES * KEYS
    assert flops(bind(kernel, {})) == flops(bind(plain, {})) + pairs
    assert (
        compulsory_bytes(bind(kernel, {})) == compulsory_bytes(bind(plain, {})) + QUERIES * KEYS * 2
    )


def test_a_causal_body_leaves_a_triangle_of_pairs(read: Read) -> None:
    """128 queries see 1, 2, ..., 128 of 256 keys: 128 x 129 / 2 pairs."""
    kernel = read(_attention(CAUSAL))
    assert flops(bind(kernel, {})) == _flops(128 * 129 // 2)


@pytest.mark.parametrize(
    ("rows", "columns", "pairs"), [(4, 4, 10), (4, 9, 10), (5, 3, 1 + 2 + 3 + 3 + 3), (1, 1, 1)]
)
def test_triangle_counts_pairs_up_to_the_diagonal(rows: int, columns: int, pairs: int) -> None:
    assert triangle(rows, columns) == pairs
    assert evaluate(triangle(symbol("r"), columns), {"r": rows}) == pairs


ONLINE = """
func.func @f(%q: tensor<128x64xf16>, %k: tensor<256x64xf16>, %v: tensor<256x64xf16>, %s: f16,
    %o: tensor<128x64xf32>, %x: tensor<128xf32>, %l: tensor<128xf32>)
    -> (tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>) {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
    affine_map<(m, n, k1, k2) -> (m, k1)>, affine_map<(m, n, k1, k2) -> (k2, k1)>,
    affine_map<(m, n, k1, k2) -> (k2, n)>, affine_map<(m, n, k1, k2) -> ()>,
    affine_map<(m, n, k1, k2) -> (m, n)>, affine_map<(m, n, k1, k2) -> (m)>,
    affine_map<(m, n, k1, k2) -> (m)>]}>
    ins(%q, %k, %v, %s : tensor<128x64xf16>, tensor<256x64xf16>, tensor<256x64xf16>, f16)
    outs(%o, %x, %l : tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>) {
  ^bb0(%y: f32):
    iree_linalg_ext.yield %y : f32
  } -> tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>
  return %0#0, %0#1, %0#2 : tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>
}"""


def test_online_attention_leaves_the_division_to_others(read: Read) -> None:
    kernel = read(ONLINE)
    assert kernel.state == "modelled"
    assert flops(bind(kernel, {})) == 128 * 256 * (2 * 2 * 64 + 5)
    written = (128 * 64 + 128 + 128) * 4
    assert compulsory_bytes(bind(kernel, {})) == (128 + 2 * 256) * 64 * 2 + written
