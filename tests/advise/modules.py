"""Modules from a few lines of IR, and what the rules say about them."""

from __future__ import annotations

from iree.compiler import ir

from xpu_shark.passes.advise.give_advice import GiveAdvice
from xpu_shark.passes.module_pass import Analysis, Effort
from xpu_shark.simulator.result import Report
from xpu_shark.simulator.target import load


def advise(text: str, target: str, effort: Effort = "high") -> Report:
    """The report with its findings; remarks are dropped."""
    analysis = Analysis(target=load(target), effort=effort)
    with ir.Context() as context:
        context.attach_diagnostic_handler(lambda _: True)
        GiveAdvice().run(ir.Module.parse(text).operation, analysis)
    assert analysis.report is not None
    return analysis.report


def matmul(m: int, n: int, k: int, element: str = "bf16") -> str:
    """C = A x B with an f32 result."""
    a, b, c = f"tensor<{m}x{k}x{element}>", f"tensor<{k}x{n}x{element}>", f"tensor<{m}x{n}xf32>"
    return f"""
func.func @matmul(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %0 = linalg.matmul ins(%a, %b : {a}, {b}) outs(%init : {c}) -> {c}
  return %0 : {c}
}}"""


def doubled(count: int) -> str:
    """Every element of a vector added to itself."""
    x, one = f"tensor<{count}xf32>", "affine_map<(i) -> (i)>"
    return f"""
func.func @doubled(%x: {x}) -> {x} {{
  %empty = tensor.empty() : {x}
  %0 = linalg.generic {{indexing_maps = [{one}, {one}], iterator_types = ["parallel"]}}
      ins(%x : {x}) outs(%empty : {x}) {{
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %in, %in : f32
    linalg.yield %sum : f32
  }} -> {x}
  return %0 : {x}
}}"""


def every_second(count: int) -> str:
    """Every second element of a vector added to itself."""
    x, out = f"tensor<{2 * count}xf32>", f"tensor<{count}xf32>"
    return f"""
func.func @every_second(%x: {x}) -> {out} {{
  %empty = tensor.empty() : {out}
  %0 = linalg.generic {{indexing_maps = [affine_map<(i) -> (2 * i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}}
      ins(%x : {x}) outs(%empty : {out}) {{
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %in, %in : f32
    linalg.yield %sum : f32
  }} -> {out}
  return %0 : {out}
}}"""


def quantised_gemv(size: int) -> str:
    """One row times a square matrix of i4 weights, widened and scaled to bf16."""
    x, w, s, y = f"1x{size}xbf16", f"{size}x{size}xi4", f"{size}xbf16", f"1x{size}xf32"
    loops = "affine_map<(m, n, k) -> ({})>"
    maps = ", ".join(loops.format(use) for use in ("m, k", "k, n", "n", "m, n"))
    return f"""
func.func @gemv(%x: tensor<{x}>, %w: tensor<{w}>, %s: tensor<{s}>) -> tensor<{y}> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{y}>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{y}>) -> tensor<{y}>
  %0 = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %w, %s : tensor<{x}>, tensor<{w}>, tensor<{s}>) outs(%init : tensor<{y}>) {{
  ^bb0(%a: bf16, %b: i4, %c: bf16, %out: f32):
    %f = arith.sitofp %b : i4 to bf16
    %g = arith.mulf %f, %c : bf16
    %wide_a = arith.extf %a : bf16 to f32
    %wide_g = arith.extf %g : bf16 to f32
    %m = arith.mulf %wide_a, %wide_g : f32
    %sum = arith.addf %m, %out : f32
    linalg.yield %sum : f32
  }} -> tensor<{y}>
  return %0 : tensor<{y}>
}}"""
