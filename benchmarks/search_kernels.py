"""Kernels that the tiling search is measured on: the twelve of docs/advice.md, and others of the
same kinds with sizes that nothing was tuned for (primes, few rows, batches, strides, groups)."""

from __future__ import annotations

from collections.abc import Callable

import resnet18
from iree.compiler import ir

from xpu_shark.passes.bridge.read_kernel import read_kernel
from xpu_shark.simulator.workload import Kernel


def matmul(m: int, n: int, k: int, element: str = "bf16") -> Kernel:
    return resnet18.matmul(m, n, k, element)


def convolution(
    size: int, inputs: int, outputs: int, taps: int, stride: int = 1, element: str = "bf16"
) -> Kernel:
    return resnet18.convolution("conv", size, inputs, outputs, taps, stride, element)


def batch_matmul(batch: int, m: int, n: int, k: int) -> Kernel:
    a, b, c = (f"tensor<{batch}x{x}x{y}xbf16>" for x, y in ((m, k), (k, n), (m, n)))
    return _read(
        f"""
func.func @f(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : {c}
  %i = linalg.fill ins(%zero : bf16) outs(%e : {c}) -> {c}
  %0 = linalg.batch_matmul ins(%a, %b : {a}, {b}) outs(%i : {c}) -> {c}
  return %0 : {c}
}}"""
    )


def matmul_relu(m: int, n: int, k: int) -> Kernel:
    """A product with a row added to its f32 result and negative values cut off."""
    a, b, c, bias = (f"tensor<{shape}>" for shape in _shapes(m, n, k))
    maps = "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>"
    return _read(
        f"""
func.func @f(%a: {a}, %b: {b}, %row: {bias}) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {c}
  %i = linalg.fill ins(%zero : f32) outs(%e : {c}) -> {c}
  %0 = linalg.matmul ins(%a, %b : {a}, {b}) outs(%i : {c}) -> {c}
  %1 = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
      ins(%0, %row : {c}, {bias}) outs(%e : {c}) {{
  ^bb0(%x: f32, %y: f32, %out: f32):
    %s = arith.addf %x, %y : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  }} -> {c}
  return %1 : {c}
}}"""
    )


def depthwise(size: int, channels: int, taps: int) -> Kernel:
    image = f"tensor<1x{size + taps - 1}x{size + taps - 1}x{channels}xbf16>"
    weights, out = (
        f"tensor<{taps}x{taps}x{channels}xbf16>",
        f"tensor<1x{size}x{size}x{channels}xbf16>",
    )
    return _read(
        f"""
func.func @f(%a: {image}, %w: {weights}) -> {out} {{
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : {out}
  %i = linalg.fill ins(%zero : bf16) outs(%e : {out}) -> {out}
  %0 = linalg.depthwise_conv_2d_nhwc_hwc {{strides = dense<1> : tensor<2xi64>,
    dilations = dense<1> : tensor<2xi64>}} ins(%a, %w : {image}, {weights})
    outs(%i : {out}) -> {out}
  return %0 : {out}
}}"""
    )


def attention(heads: int, rows: int, columns: int, width: int) -> Kernel:
    """Attention of `rows` queries and `columns` keys a head, in bf16."""
    few, many = (f"{heads}x{size}x{width}" for size in (rows, columns))
    return _attention("h", few, many)


def grouped_attention(groups: int, heads: int, rows: int, columns: int, width: int) -> Kernel:
    """Attention whose `heads` of a group share keys and values."""
    return _attention("h, g", f"{groups}x{heads}x{rows}x{width}", f"{groups}x{columns}x{width}")


def _attention(heads: str, query: str, key: str) -> Kernel:
    dims = f"{heads}, m, n, k1, k2"
    uses = (f"{heads}, m, k1", "h, k2, k1", "h, k2, n", "", f"{heads}, m, n")
    maps = ", ".join(f"affine_map<({dims}) -> ({use})>" for use in uses)
    few, many = f"tensor<{query}xbf16>", f"tensor<{key}xbf16>"
    return _read(
        f"""
func.func @f(%q: {few}, %k: {many}, %v: {many}, %s: bf16) -> {few} {{
  %e = tensor.empty() : {few}
  %0 = iree_linalg_ext.attention <{{indexing_maps = [{maps}]}}>
    ins(%q, %k, %v, %s : {few}, {many}, {many}, bf16) outs(%e : {few}) {{
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  }} -> {few}
  return %0 : {few}
}}"""
    )


def _shapes(m: int, n: int, k: int) -> tuple[str, ...]:
    return f"{m}x{k}xbf16", f"{k}x{n}xbf16", f"{m}x{n}xf32", f"{n}xf32"


def _read(text: str) -> Kernel:
    with ir.Context():
        module = ir.Module.parse(text)
        (function,) = module.body.operations
        kernel = read_kernel(function.operation, name="kernel", backend="", location="")
    assert kernel.state == "modelled", kernel.reason
    return kernel


Kernels = dict[str, Callable[[], Kernel]]

TWELVE: Kernels = {
    "matmul_1024": lambda: matmul(1024, 1024, 1024),
    "matmul_4096": lambda: matmul(4096, 4096, 4096),
    "matmul_1000": lambda: matmul(1000, 1000, 1000),
    "matmul_128x3072x768": lambda: matmul(128, 3072, 768),
    "conv_1x1_56": lambda: convolution(56, 256, 64, 1),
    "conv_1x1_28": lambda: convolution(28, 512, 128, 1),
    "conv_3x3_56": lambda: convolution(56, 64, 64, 3),
    "conv_3x3_7": lambda: convolution(7, 512, 512, 3),
    "attention_12x512x64": lambda: attention(12, 512, 512, 64),
    "attention_8x2048x128": lambda: attention(8, 2048, 2048, 128),
    "attention_16x1024x128": lambda: attention(16, 1024, 1024, 128),
    "attention_3x197x64": lambda: attention(3, 197, 197, 64),
}

OTHERS: Kernels = {
    "matmul_prime": lambda: matmul(509, 1021, 257),
    "matmul_thin": lambda: matmul(5, 4099, 1031),
    "matmul_tall": lambda: matmul(20011, 48, 96),
    "matmul_long_k": lambda: matmul(100, 60, 50000),
    "matmul_gemv": lambda: matmul(1, 4096, 4096),
    "matmul_f32": lambda: matmul(700, 700, 700, "f32"),
    "matmul_i8": lambda: matmul(768, 1536, 900, "i8"),
    "matmul_relu": lambda: matmul_relu(384, 1536, 768),
    "batch_matmul_12": lambda: batch_matmul(12, 197, 64, 197),
    "batch_matmul_96": lambda: batch_matmul(96, 64, 64, 33),
    "conv_3x3_stride_2": lambda: convolution(28, 64, 128, 3, 2),
    "conv_5x5_prime": lambda: convolution(23, 37, 53, 5),
    "conv_7x7_stem": lambda: convolution(112, 3, 64, 7, 2),
    "depthwise_28": lambda: depthwise(28, 144, 3),
    "attention_grouped": lambda: grouped_attention(2, 4, 256, 256, 64),
    "attention_decode": lambda: grouped_attention(8, 4, 1, 777, 128),
    "attention_cross": lambda: attention(6, 77, 1000, 80),
    "attention_prime": lambda: attention(5, 331, 331, 64),
}

KERNELS: Kernels = TWELVE | OTHERS
