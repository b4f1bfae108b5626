"""Small StableHLO programs, their work and compulsory bytes counted from what the ops mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xpu_shark.simulator.element_type import storage_bytes

NHWC = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
NCHW = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]"


@dataclass(frozen=True)
class Program:
    """One function. `flops` and `size` (bytes) are of all its dispatches together; `matrix`:
    whether a matrix unit that takes the types has work."""

    name: str
    text: str
    flops: int
    size: int
    matrix: bool


def tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def size(shape: Sequence[int], element: str) -> int:
    return storage_bytes(element, prod(shape))


def dot(
    name: str,
    lhs: Sequence[int],
    rhs: Sequence[int],
    roles: tuple[Sequence[int], Sequence[int], int],
    elements: tuple[str, str] = ("f32", "f32"),
    *,
    matrix: bool = True,
) -> Program:
    """`roles`: summed dimensions of both sides, and how many leading ones are batch.

    Every element of the result is a sum of products, two operations each.
    """
    left, right, batch = roles
    kept = [n for d, n in enumerate(lhs) if d >= batch and d not in left]
    out = [*lhs[:batch], *kept, *(n for d, n in enumerate(rhs) if d >= batch and d not in right)]
    (element, result), depth = elements, prod(lhs[d] for d in left)
    both = f"batching_dims = {[*range(batch)]} x {[*range(batch)]}, " if batch else ""
    a, b, c = tensor(lhs, element), tensor(rhs, element), tensor(out, result)
    text = f"""func.func @{name}(%a: {a}, %b: {b}) -> {c} {{
  %0 = stablehlo.dot_general %a, %b, {both}contracting_dims = {[*left]} x {[*right]}
    : ({a}, {b}) -> {c}
  return %0 : {c}
}}"""
    moved = size(lhs, element) + size(rhs, element) + size(out, result)
    return Program(name, text, 2 * prod(out) * depth, moved, matrix)


def conv(
    name: str,
    image: Sequence[int],
    taps: Sequence[int],
    out: Sequence[int],
    labels: str,
    *,
    window: str = "",
    groups: int = 1,
    elements: tuple[str, str] = ("f32", "f32"),
    matrix: bool = True,
) -> Program:
    """Every output is a sum over one output channel's share of the filter."""
    element, result = elements
    channels = taps[labels.split("x")[1].split("->")[0].strip("[]").split(", ").index("o")]
    a, b, c = tensor(image, element), tensor(taps, element), tensor(out, result)
    text = f"""func.func @{name}(%a: {a}, %b: {b}) -> {c} {{
  %0 = stablehlo.convolution(%a, %b) dim_numbers = {labels}, window = {{{window}}}
    {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : ({a}, {b}) -> {c}
  return %0 : {c}
}}"""
    moved = size(image, element) + size(taps, element) + size(out, result)
    return Program(name, text, 2 * prod(out) * prod(taps) // channels, moved, matrix)


def reduce(
    name: str, shape: Sequence[int], over: Sequence[int], op: str = "add", element: str = "f32"
) -> Program:
    """One operation for each element of the input."""
    out = [n for d, n in enumerate(shape) if d not in over]
    zero = "0" if element.startswith("i") else "0.0"
    a, c, scalar = tensor(shape, element), tensor(out, element), tensor((), element)
    text = f"""func.func @{name}(%a: {a}) -> {c} {{
  %z = stablehlo.constant dense<{zero}> : {scalar}
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.{op} across dimensions = {[*over]}
    : ({a}, {scalar}) -> {c}
  return %0 : {c}
}}"""
    return Program(name, text, prod(shape), size(shape, element) + size(out, element), False)


def pool(name: str, op: str, shape: Sequence[int], window: Sequence[int]) -> Program:
    """Windows side by side: each element of the input once."""
    out = [n // w for n, w in zip(shape, window, strict=True)]
    a, c, dims = tensor(shape, "f32"), tensor(out, "f32"), ", ".join(map(str, window))
    text = f"""func.func @{name}(%a: {a}) -> {c} {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %z) ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.{op} %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }}) {{window_dimensions = array<i64: {dims}>, window_strides = array<i64: {dims}>}}
    : ({a}, tensor<f32>) -> {c}
  return %0 : {c}
}}"""
    return Program(name, text, prod(shape), size(shape, "f32") + size(out, "f32"), False)


def binary(name: str, element: str, op: str = "add", flops: int = 1) -> Program:
    """Two arrays of 61 x 47 into a third, `flops` operations an element."""
    a = tensor((61, 47), element)
    text = f"""func.func @{name}(%a: {a}, %b: {a}) -> {a} {{
  %0 = stablehlo.{op} %a, %b : {a}
  return %0 : {a}
}}"""
    return Program(name, text, flops * 61 * 47, 3 * size((61, 47), element), False)


def body(
    name: str, arguments: str, result: str, lines: str, counts: tuple[int, int], *, matrix: bool
) -> Program:
    text = f"func.func @{name}({arguments}) -> {result} {{\n{lines}\n  return %0 : {result}\n}}"
    return Program(name, text, *counts, matrix)


def products() -> Iterator[Program]:
    m, n, k = 64, 80, 48
    plain = ((1,), (0,), 0)
    yield dot("matmul", (m, k), (k, n), plain)
    yield dot("matmul_prime", (61, 47), (47, 79), plain)
    yield dot("matmul_rhs_transposed", (m, k), (n, k), ((1,), (1,), 0))
    yield dot("matmul_lhs_transposed", (k, m), (k, n), ((0,), (0,), 0))
    for element, result in (
        *(("bf16", "f32"), ("bf16", "bf16"), ("f16", "f32"), ("i8", "i32"), ("i4", "i32")),
        *(("f8E4M3FN", "f32"), ("f8E4M3FNUZ", "f32"), ("f8E5M2", "f32"), ("f8E5M2FNUZ", "f32")),
    ):
        yield dot(f"matmul_{element}_{result}", (m, k), (k, n), plain, (element, result))
    yield dot("matmul_f64", (m, k), (k, n), plain, ("f64", "f64"), matrix=False)
    yield dot("matmul_i32", (m, k), (k, n), plain, ("i32", "i32"), matrix=False)
    yield dot("batch_matmul", (3, m, k), (3, k, n), ((2,), (1,), 1))
    yield dot("batch_matmul_two", (2, 3, m, k), (2, 3, k, n), ((3,), (2,), 2), ("bf16", "f32"))
    yield dot("two_depths", (m, 6, 8), (6, 8, n), ((1, 2), (0, 1), 0))
    yield dot("matvec", (m, k), (k,), plain)
    yield dot("vecmat", (k,), (k, n), ((0,), (0,), 0))
    yield dot("row_matmul", (1, k), (k, n), plain)
    yield dot("column_matmul", (m, k), (k, 1), plain)
    yield dot("batch_matvec", (3, m, k), (3, k), ((2,), (1,), 1))
    yield dot("dot", (512,), (512,), ((0,), (0,), 0), matrix=False)
    yield body(
        "matmul_bias_relu",
        "%a: tensor<64x48xf32>, %b: tensor<48x80xf32>, %c: tensor<80xf32>",
        "tensor<64x80xf32>",
        """  %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<64x48xf32>, tensor<48x80xf32>) -> tensor<64x80xf32>
  %2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<80xf32>) -> tensor<64x80xf32>
  %3 = stablehlo.add %1, %2 : tensor<64x80xf32>
  %z = stablehlo.constant dense<0.0> : tensor<64x80xf32>
  %0 = stablehlo.maximum %3, %z : tensor<64x80xf32>""",
        (m * n * (2 * k + 2), 4 * (m * k + k * n + n + m * n)),
        matrix=True,
    )


def convolutions() -> Iterator[Program]:
    image, taps, out = (2, 18, 18, 16), (3, 3, 16, 24), (2, 16, 16, 24)
    yield conv("conv_nhwc", image, taps, out, NHWC)
    yield conv("conv_bf16", image, taps, out, NHWC, elements=("bf16", "f32"))
    yield conv("conv_i8", image, taps, out, NHWC, elements=("i8", "i32"))
    yield conv("conv_nchw", (2, 16, 18, 18), (24, 16, 3, 3), (2, 24, 16, 16), NCHW)
    yield conv("conv_prime", (1, 19, 19, 7), (3, 3, 7, 13), (1, 17, 17, 13), NHWC)
    yield conv("conv_1x1", (2, 16, 16, 16), (1, 1, 16, 24), out, NHWC)
    strided = (2, 17, 17, 16)
    yield conv("conv_strided", strided, taps, (2, 8, 8, 24), NHWC, window="stride = [2, 2]")
    dilated = (2, 20, 20, 16)
    yield conv("conv_dilated", dilated, taps, out, NHWC, window="rhs_dilate = [2, 2]")
    yield conv("conv_grouped", image, (3, 3, 4, 24), out, NHWC, groups=4)
    yield conv("conv_grouped_nchw", (2, 16, 18, 18), (24, 4, 3, 3), (2, 24, 16, 16), NCHW, groups=4)
    depth = (3, 3, 1, 16)
    yield conv("conv_depthwise", image, depth, (2, 16, 16, 16), NHWC, groups=16, matrix=False)
    row = "[b, 0, f]x[0, i, o]->[b, 0, f]"
    yield conv("conv_1d", (2, 34, 16), (3, 16, 24), (2, 32, 24), row)
    volume = "[b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f]"
    yield conv("conv_3d", (1, 6, 10, 10, 4), (3, 3, 3, 4, 8), (1, 4, 8, 8, 8), volume)


def rest() -> Iterator[Program]:
    yield reduce("sum_last", (64, 48), (1,))
    yield reduce("sum_first", (64, 48), (0,))
    yield reduce("sum_middle", (6, 64, 10), (1,))
    yield reduce("sum_outer_and_inner", (6, 64, 10), (0, 2))
    yield reduce("sum_all_prime", (61, 47), (0, 1))
    yield reduce("max_last", (64, 48), (1,), "maximum")
    yield reduce("sum_bf16", (61, 47), (1,), element="bf16")
    yield reduce("sum_i64", (61, 47), (0,), element="i64")
    yield pool("max_pool", "maximum", (2, 16, 16, 8), (1, 2, 2, 1))
    yield pool("sum_pool_nchw", "add", (2, 8, 16, 16), (1, 1, 2, 2))
    for element in ("bf16", "f16", "f64", "i8", "i16", "i64", "f8E4M3FN", "f8E5M2"):
        yield binary(f"add_{element}", element)
    yield binary("multiply_complex", "complex<f32>", "multiply", 6)
    yield binary("and_i1", "i1", "and", 0)
    yield body(
        "gather",
        "%t: tensor<1000x48xf32>, %i: tensor<37xi32>",
        "tensor<37x48xf32>",
        """  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<
    offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 48>}>
    : (tensor<1000x48xf32>, tensor<37xi32>) -> tensor<37x48xf32>""",
        (0, 4 * (2 * 37 * 48 + 37)),
        matrix=False,
    )
    moves = (
        ("transpose", "%a, dims = [1, 0] : (A) -> C", (48, 64), 64 * 48),
        ("reverse", "%a, dims = [1] : C", (64, 48), 64 * 48),
        ("slice", "%a [2:34, 8:40] : (A) -> C", (32, 32), 32 * 32),
    )
    for op, rest_, shape, read in moves:
        a, c = "tensor<64x48xf32>", tensor(shape, "f32")
        line = f"  %1 = stablehlo.{op} {rest_}".replace("A", a).replace("C", c)
        lines = f"{line}\n  %0 = stablehlo.tanh %1 : {c}"
        counts = (prod(shape), 4 * (read + prod(shape)))
        yield body(op, f"%a: {a}", c, lines, counts, matrix=False)
    yield body(
        "broadcast",
        "%a: tensor<64x48xf32>",
        "tensor<5x64x48xf32>",
        "  %0 = stablehlo.broadcast_in_dim %a, dims = [1, 2]\n"
        "    : (tensor<64x48xf32>) -> tensor<5x64x48xf32>",
        (0, 4 * 6 * 64 * 48),
        matrix=False,
    )


PROGRAMS = (*products(), *convolutions(), *rest())
