"""Matrix products and convolutions: work, compulsory bytes and the roles of the loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import run_bound
from xpu_shark.simulator.target import load
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import Contraction, Kernel

Read = Callable[[str], Kernel]
NO_DIMS: Mapping[str, int] = {}


def _named(op: str, lhs: str, rhs: str, out: str, attributes: str = "") -> str:
    """A function that computes `op` into a zero-filled output."""
    element = out.split("x")[-1]
    zero = "0" if element.startswith("i") else "0.0"
    dynamic = "?" in out
    empty = (
        "%c0 = arith.constant 0 : index\n"
        f"%d = tensor.dim %a, %c0 : tensor<{lhs}>\n%e = tensor.empty(%d) : tensor<{out}>"
        if dynamic
        else f"%e = tensor.empty() : tensor<{out}>"
    )
    return f"""
func.func @f(%a: tensor<{lhs}>, %b: tensor<{rhs}>) -> tensor<{out}> {{
  {empty}
  %z = arith.constant {zero} : {element}
  %i = linalg.fill ins(%z : {element}) outs(%e : tensor<{out}>) -> tensor<{out}>
  %0 = {op} {attributes} ins(%a, %b : tensor<{lhs}>, tensor<{rhs}>) outs(%i : tensor<{out}>)
    -> tensor<{out}>
  return %0 : tensor<{out}>
}}"""


def _contraction(kernel: Kernel) -> Contraction:
    (nest,) = kernel.nests
    assert nest.contraction is not None
    return nest.contraction


@pytest.mark.parametrize(("m", "n", "k"), [(128, 256, 64), (127, 251, 61), (1, 1, 1)])
def test_matmul_is_2mnk_flops_and_three_matrices(read: Read, m: int, n: int, k: int) -> None:
    kernel = read(_named("linalg.matmul", f"{m}x{k}xf32", f"{k}x{n}xf32", f"{m}x{n}xf32"))
    assert kernel.state == "modelled"
    assert flops(bind(kernel, NO_DIMS)) == 2 * m * n * k
    assert compulsory_bytes(bind(kernel, NO_DIMS)) == 4 * (m * k + k * n + m * n)


@pytest.mark.parametrize(
    ("lhs", "rhs", "out", "bits"),
    [
        ("bf16", "bf16", "f32", (16, 16, 32)),
        ("f16", "f16", "f16", (16, 16, 16)),
        ("i8", "i8", "i32", (8, 8, 32)),
        ("i4", "i4", "i32", (4, 4, 32)),
        ("f8E4M3FN", "f8E5M2", "f32", (8, 8, 32)),
        ("f32", "bf16", "f32", (32, 16, 32)),
    ],
)
def test_matmul_bytes_follow_the_element_types(
    read: Read, lhs: str, rhs: str, out: str, bits: tuple[int, int, int]
) -> None:
    kernel = read(_named("linalg.matmul", f"96x40x{lhs}", f"40x56x{rhs}", f"96x56x{out}"))
    contraction = _contraction(kernel)
    assert (contraction.lhs_element, contraction.rhs_element) == (lhs, rhs)
    assert contraction.accumulator == out
    assert flops(bind(kernel, NO_DIMS)) == 2 * 96 * 56 * 40
    a, b, c = (96 * 40 * bits[0], 40 * 56 * bits[1], 96 * 56 * bits[2])
    assert compulsory_bytes(bind(kernel, NO_DIMS)) == (a + b + c) // 8


def test_a_dynamic_dimension_stays_a_symbol_until_it_is_bound(read: Read) -> None:
    kernel = read(_named("linalg.matmul", "?x64xf32", "64x32xf32", "?x32xf32"))
    assert kernel.state == "modelled"
    assert flops(bind(kernel, {"arg0.0": 17})) == 2 * 17 * 32 * 64
    assert compulsory_bytes(bind(kernel, {"arg0.0": 17})) == 4 * (17 * 64 + 64 * 32 + 17 * 32)


def test_batch_matmul_has_a_batch_loop(read: Read) -> None:
    kernel = read(_named("linalg.batch_matmul", "8x16x64xf32", "8x64x32xf32", "8x16x32xf32"))
    roles = _contraction(kernel)
    assert (roles.batch, roles.m, roles.n, roles.k) == ((0,), (1,), (2,), (3,))
    assert flops(bind(kernel, NO_DIMS)) == 2 * 8 * 16 * 32 * 64


def test_matvec_is_a_contraction_without_columns(read: Read) -> None:
    kernel = read(_named("linalg.matvec", "100x64xf32", "64xf32", "100xf32"))
    roles = _contraction(kernel)
    assert (roles.m, roles.n, roles.k) == ((0,), (), (1,))
    assert flops(bind(kernel, NO_DIMS)) == 2 * 100 * 64
    assert compulsory_bytes(bind(kernel, NO_DIMS)) == 4 * (100 * 64 + 64 + 100)


def test_dot_product_is_no_matrix_work(read: Read) -> None:
    kernel = read(_named("linalg.dot", "64xf32", "64xf32", "f32"))
    assert kernel.nests[0].contraction is None
    assert flops(bind(kernel, NO_DIMS)) == 2 * 64


def test_mmt4d_counts_inner_tiles(read: Read) -> None:
    kernel = read(_named("linalg.mmt4d", "4x8x8x2xf32", "6x8x16x2xf32", "4x6x8x16xf32"))
    roles = _contraction(kernel)
    assert (roles.m, roles.n, roles.k) == ((0, 3), (1, 4), (2, 5))
    assert flops(bind(kernel, NO_DIMS)) == 2 * (4 * 8) * (6 * 16) * (8 * 2)


CONVOLUTIONS = [
    # name, attributes, image, filter, output, flops by hand
    ("nhwc_hwcf", "", "1x18x18x8", "3x3x8x16", "1x16x16x16", 2 * 16 * 16 * 16 * 9 * 8),
    ("nchw_fchw", "", "2x8x11x11", "5x8x3x3", "2x5x9x9", 2 * 2 * 5 * 9 * 9 * 8 * 9),
    (
        "nhwc_hwcf",
        "{strides = dense<2> : tensor<2xi64>}",
        "1x17x17x8",
        "3x3x8x16",
        "1x8x8x16",
        2 * 8 * 8 * 16 * 9 * 8,
    ),
    (
        "nhwc_hwcf",
        "{dilations = dense<2> : tensor<2xi64>}",
        "1x20x20x8",
        "3x3x8x16",
        "1x16x16x16",
        2 * 16 * 16 * 16 * 9 * 8,
    ),
    ("ngchw_gfchw", "", "1x4x8x10x10", "4x2x8x3x3", "1x4x2x8x8", 2 * 4 * 2 * 8 * 8 * 8 * 9),
]


@pytest.mark.parametrize(("name", "attributes", "image", "taps", "out", "work"), CONVOLUTIONS)
def test_convolution_work_and_bytes(
    read: Read, name: str, attributes: str, image: str, taps: str, out: str, work: int
) -> None:
    text = _named(f"linalg.conv_2d_{name}", f"{image}xf32", f"{taps}xf32", f"{out}xf32", attributes)
    kernel = read(text)
    roles = _contraction(kernel)
    assert roles.m
    assert roles.n
    assert len(roles.k) == 3  # two taps and the input channels
    assert flops(bind(kernel, NO_DIMS)) == work
    elements = 0
    for shape in (image, taps, out):
        count = 1
        for size in shape.split("x"):
            count *= int(size)
        elements += count
    assert compulsory_bytes(bind(kernel, NO_DIMS)) == 4 * elements


def test_grouped_convolution_has_its_groups_as_batch(read: Read) -> None:
    name, attributes, image, taps, out, _ = CONVOLUTIONS[-1]
    text = _named(f"linalg.conv_2d_{name}", f"{image}xf32", f"{taps}xf32", f"{out}xf32", attributes)
    kernel = read(text)
    extents = [kernel.nests[0].dims[dim].extent for dim in _contraction(kernel).batch]
    assert extents == [4]


def test_depthwise_convolution_is_vector_work(read: Read) -> None:
    text = _named(
        "linalg.depthwise_conv_2d_nhwc_hwc", "1x18x18x32xf32", "3x3x32xf32", "1x16x16x32xf32"
    )
    kernel = read(text)
    assert kernel.nests[0].contraction is None
    assert flops(bind(kernel, NO_DIMS)) == 2 * 16 * 16 * 32 * 9


def test_a_strided_1x1_convolution_needs_only_the_pixels_it_uses(read: Read) -> None:
    text = _named(
        "linalg.conv_2d_nhwc_hwcf",
        "1x15x15x8xf32",
        "1x1x8x4xf32",
        "1x8x8x4xf32",
        "{strides = dense<2> : tensor<2xi64>}",
    )
    assert compulsory_bytes(bind(read(text), NO_DIMS)) == 4 * (8 * 8 * 8 + 8 * 4 + 8 * 8 * 4)


GENERALISED = """
func.func @f(%a: tensor<229x229x3xbf16>, %b: tensor<7x7x3x64xbf16>) -> tensor<112x112x64xf32> {
  %e = tensor.empty() : tensor<112x112x64xf32>
  %z = arith.constant 0.0 : f32
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<112x112x64xf32>) -> tensor<112x112x64xf32>
  %0 = linalg.generic {
    indexing_maps = [
      affine_map<(d0, d1, d2, d3, d4, d5) -> (d0 * 2 + d3, d1 * 2 + d4, d5)>,
      affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4, d5, d2)>,
      affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%a, %b : tensor<229x229x3xbf16>, tensor<7x7x3x64xbf16>)
    outs(%i : tensor<112x112x64xf32>) {
  ^bb0(%x: bf16, %w: bf16, %o: f32):
    %1 = arith.extf %x : bf16 to f32
    %2 = arith.extf %w : bf16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<112x112x64xf32>
  return %0 : tensor<112x112x64xf32>
}"""


def test_a_generalised_convolution_is_one_contraction(read: Read) -> None:
    kernel = read(GENERALISED)
    roles = _contraction(kernel)
    assert (roles.batch, roles.m, roles.n, roles.k) == ((), (0, 1), (2,), (3, 4, 5))
    assert (roles.lhs_element, roles.accumulator) == ("bf16", "f32")
    work = {item.kind: item.count for item in kernel.nests[0].work}
    assert work == {"convert": 2, "madd": 1}
    assert flops(bind(kernel, NO_DIMS)) == 2 * 112 * 112 * 64 * 7 * 7 * 3


def test_scaled_weights_are_the_type_that_they_are_multiplied_in(read: Read) -> None:
    """A 4-bit weight minus its zero point times its scale: 2 of 4 operations are the madd's."""
    kernel = read("""
func.func @f(%x: tensor<64xf32>, %w: tensor<32x64xi4>, %s: tensor<32xf32>) -> tensor<32xf32> {
  %e = tensor.empty() : tensor<32xf32>
  %z = arith.constant 0.0 : f32
  %c = arith.constant 8.0 : f32
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<32xf32>) -> tensor<32xf32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>,
                     affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%x, %w, %s : tensor<64xf32>, tensor<32x64xi4>, tensor<32xf32>)
    outs(%i : tensor<32xf32>) {
  ^bb0(%a: f32, %b: i4, %scale: f32, %o: f32):
    %1 = arith.uitofp %b : i4 to f32
    %2 = arith.subf %1, %c : f32
    %3 = arith.mulf %2, %scale : f32
    %4 = arith.mulf %a, %3 : f32
    %5 = arith.addf %o, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<32xf32>
  return %0 : tensor<32xf32>
}""")
    roles = _contraction(kernel)
    assert (roles.m, roles.n, roles.k) == ((), (0,), (1,))
    assert roles.rhs_element == "f32"
    assert flops(bind(kernel, NO_DIMS)) == 32 * 64 * (1 + 1 + 2)
    assert compulsory_bytes(bind(kernel, NO_DIMS)) == 64 * 4 + 32 * 64 // 2 + 32 * 4 + 32 * 4


def test_a_bias_is_read_where_the_product_starts_from_it(read: Read) -> None:
    kernel = read("""
func.func @f(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %c: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>)
    outs(%c : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}""")
    assert compulsory_bytes(bind(kernel, NO_DIMS)) == 4 * (8 * 16 + 16 * 4 + 2 * 8 * 4)


# Query, key and value as IREE joins them: one op, one left operand, three right ones and results.
JOINED = """
func.func @f(%x: tensor<48x32xbf16>, %q: tensor<32x64xbf16>, %k: tensor<32x64xbf16>,
    %v: tensor<32x64xbf16>)
    -> (tensor<48x64xf32>, tensor<48x64xf32>, tensor<48x64xf32>) {
  %e = tensor.empty() : tensor<48x64xf32>
  %z = arith.constant 0.0 : f32
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %0:3 = linalg.generic {indexing_maps = [
      affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>, affine_map<(m, n, k) -> (m, n)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %q, %k, %v : tensor<48x32xbf16>, tensor<32x64xbf16>, tensor<32x64xbf16>,
          tensor<32x64xbf16>)
      outs(%i, %i, %i : tensor<48x64xf32>, tensor<48x64xf32>, tensor<48x64xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: bf16, %d: bf16, %o: f32, %p: f32, %r: f32):
    %wa = arith.extf %a : bf16 to f32
    %wb = arith.extf %b : bf16 to f32
    %wc = arith.extf %c : bf16 to f32
    %wd = arith.extf %d : bf16 to f32
    %ab = arith.mulf %wa, %wb : f32
    %ac = arith.mulf %wa, %wc : f32
    %ad = arith.mulf %wa, %wd : f32
    %x0 = arith.addf %o, %ab : f32
    %x1 = arith.addf %p, %ac : f32
    %x2 = arith.addf %r, %ad : f32
    linalg.yield %x0, %x1, %x2 : f32, f32, f32
  } -> (tensor<48x64xf32>, tensor<48x64xf32>, tensor<48x64xf32>)
  return %0#0, %0#1, %0#2 : tensor<48x64xf32>, tensor<48x64xf32>, tensor<48x64xf32>
}"""


def test_joined_products_are_matrix_work_and_load_what_they_share_once(read: Read) -> None:
    kernel = bind(read(JOINED), NO_DIMS)
    assert [nest.contraction is not None for nest in kernel.nests] == [True] * 3
    assert flops(kernel) == 3 * 2 * 48 * 64 * 32
    assert compulsory_bytes(kernel) == 2 * (48 * 32 + 3 * 32 * 64) + 4 * 3 * 48 * 64
    # One set of loops: rows, columns and the reduction, of all three.
    assert len(kernel.axes) == 3
    run = run_bound(kernel, Tiling((16, 64, 32), (0, 1)), load("tiny"))
    assert run.bytes["hbm"] == compulsory_bytes(kernel)


def test_a_conversion_that_joined_products_share_is_done_once(read: Read) -> None:
    kernel = read(JOINED)
    converted = [
        sum(work.count for work in nest.work if work.kind == "convert") for nest in kernel.nests
    ]
    assert converted == [2, 1, 1]


def test_a_weight_that_is_one_number_everywhere_is_multiplied_and_not_loaded(read: Read) -> None:
    plain = _named("linalg.matmul", "128x64xbf16", "64x256xbf16", "128x256xf32")
    text = plain.replace(
        "  %e = ", "  %w = arith.constant dense<0.01> : tensor<64x256xbf16>\n  %e = "
    ).replace("ins(%a, %b", "ins(%a, %w")
    loaded, constant = bind(read(plain), NO_DIMS), bind(read(text), NO_DIMS)
    assert constant.nests[0].contraction == loaded.nests[0].contraction
    assert flops(constant) == flops(loaded) == 2 * 128 * 64 * 256
    assert compulsory_bytes(loaded) - compulsory_bytes(constant) == 64 * 256 * 2
    tpu = load("tpu_v6e")
    tiling = Tiling((128, 256, 64), (0, 1))
    runs = [run_bound(kernel, tiling, tpu) for kernel in (loaded, constant)]
    busy = [next(s.busy_ps for s in run.streams if s.name == "matrix") for run in runs]
    assert busy[0] == busy[1] > 0
