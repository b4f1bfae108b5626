"""Micro-kernels: MLIR functions of one dispatch each, whose time one constant of the machine rules.

Tile sizes are pinned with `compilation_info`, so that the compiler makes the same loops on every
machine; `lanes` is the number of f32 in one vector register.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# A product whose second matrix is stored column by column.
TURNED = [f"affine_map<(m, n, k) -> ({dims})>" for dims in ("m, k", "n, k", "m, n")]
_PEEL = ", {enable_loop_peeling}"


@dataclass(frozen=True)
class Kernel:
    """`text` is the function `name`; `inputs` are its arguments as iree-run-module takes them.
    `threads`: 0 stands for all that IREE takes by default."""

    name: str
    text: str
    inputs: tuple[str, ...]
    threads: int = 1


def tiles(
    distribution: Sequence[int],
    parallel: Sequence[int],
    reduction: Sequence[int] = (),
    *,
    cache: bool = False,
    pipeline: str = "DoubleTilingExpert",
) -> str:
    """A `compilation_info` of IREE's CPU backend. With `cache` as contractions have it: a level
    of its own, and edges peeled off."""
    levels = [("cache_parallel", distribution)] if cache else []
    levels += [("distribution", distribution), ("vector_common_parallel", parallel)]
    levels += [("vector_reduction", reduction)] if reduction else []
    text = ", ".join(f"{name} = [{', '.join(map(str, sizes))}]" for name, sizes in levels)
    how = f"#iree_cpu.pipeline<{pipeline}>{_PEEL if cache else ''}"
    return (
        "compilation_info = #iree_codegen.compilation_info<lowering_config = "
        f"#iree_cpu.lowering_config<{text}>, translation_info = "
        f"#iree_codegen.translation_info<pipeline = {how}>>"
    )


def product(
    name: str,
    size: tuple[int, int, int],
    tile: tuple[int, int],
    block: tuple[int, int] = (64, 64),
    *,
    element: str = "f32",
    accumulator: str = "",
    step: int = 8,
    batch: int = 0,
    turned: bool = False,
    peeled: bool = True,
    threads: int = 1,
) -> Kernel:
    """An m x k by k x n matrix product in register tiles of `tile`, workgroups of `block`, `step`
    terms of each sum at a time; with `batch` so many of them, `turned` where the second matrix is
    stored as n x k, and not `peeled` as IREE has tiles that do not divide it."""
    m, n, k = size
    into = accumulator or element
    one, none, many = ((1,), (0,), (batch,)) if batch else ((), (), ())
    config = tiles((*one, *block, 0), (*one, *tile, 0), (*none, 0, 0, step), cache=peeled)
    maps = f" indexing_maps = [{', '.join(TURNED)}]" if turned else ""
    zero = "0" if into.startswith("i") else "0.0"
    a, b = (f"{_shape(*many, *dims)}x{element}" for dims in ((m, k), (n, k) if turned else (k, n)))
    c = f"tensor<{_shape(*many, m, n)}x{into}>"
    text = f"""func.func @{name}(%a: tensor<{a}>, %b: tensor<{b}>) -> {c} {{
  %zero = arith.constant {zero} : {into}
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : {into}) outs(%empty : {c}) -> {c}
  %c = linalg.{"batch_matmul" if batch else "matmul"}{maps} {{{config}}}
    ins(%a, %b : tensor<{a}>, tensor<{b}>) outs(%init : {c}) -> {c}
  return %c : {c}
}}"""
    return Kernel(name, text, (f"{a}=1", f"{b}=1"), threads)


def _shape(*dims: int) -> str:
    return "x".join(map(str, dims))


def elements(
    name: str,
    shape: tuple[int, int],
    body: Sequence[str],
    config: str,
    *,
    element: str = "f32",
    source: str = "",
    step: int = 1,
    threads: int = 1,
) -> Kernel:
    """Element-wise work on %x and %y; the last line of `body` names the result %r. %x is read at
    every `step`-th element of its rows, and of type `source` (default: `element`)."""
    rows, columns = shape
    out = f"tensor<{rows}x{columns}x{element}>"
    wide, source = (columns - 1) * step + 1, source or element
    into = f"tensor<{rows}x{wide}x{source}>"
    here = "affine_map<(d0, d1) -> (d0, d1)>"
    there = here if step == 1 else f"affine_map<(d0, d1) -> (d0, d1 * {step})>"
    lines = "\n".join(f"    {line}" for line in body)
    attributes = f" attrs = {{{config}}}" if config else ""
    text = f"""func.func @{name}(%a: {into}, %b: {out}) -> {out} {{
  %empty = tensor.empty() : {out}
  %c = linalg.generic {{indexing_maps = [{there}, {here}, {here}],
      iterator_types = ["parallel", "parallel"]}}
      ins(%a, %b : {into}, {out}) outs(%empty : {out}){attributes} {{
  ^bb0(%x: {source}, %y: {element}, %old: {element}):
{lines}
    linalg.yield %r : {element}
  }} -> {out}
  return %c : {out}
}}"""
    inputs = (f"{rows}x{wide}x{source}=1.5", f"{rows}x{columns}x{element}=0.75")
    return Kernel(name, text, inputs, threads)


def rows(
    name: str, shape: tuple[int, int], operation: str, config: str, *, threads: int = 1
) -> Kernel:
    """Each row reduced to one value with `operation`, such as arith.addf."""
    m, n = shape
    text = f"""func.func @{name}(%a: tensor<{m}x{n}xf32>) -> tensor<{m}xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{m}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{m}xf32>) -> tensor<{m}xf32>
  %c = linalg.generic {{
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]}}
      ins(%a : tensor<{m}x{n}xf32>) outs(%init : tensor<{m}xf32>) attrs = {{{config}}} {{
  ^bb0(%x: f32, %sum: f32):
    %r = {operation} %sum, %x : f32
    linalg.yield %r : f32
  }} -> tensor<{m}xf32>
  return %c : tensor<{m}xf32>
}}"""
    return Kernel(name, text, (f"{m}x{n}xf32=1.5",), threads)


def transpose(name: str, shape: tuple[int, ...], order: tuple[int, ...]) -> Kernel:
    """An array with its dims in another order, tiles as IREE chooses them."""
    source = "x".join(map(str, shape)) + "xf32"
    result = "x".join(str(shape[dim]) for dim in order) + "xf32"
    text = f"""func.func @{name}(%a: tensor<{source}>) -> tensor<{result}> {{
  %empty = tensor.empty() : tensor<{result}>
  %c = linalg.transpose ins(%a : tensor<{source}>) outs(%empty : tensor<{result}>)
    permutation = {list(order)}
  return %c : tensor<{result}>
}}"""
    return Kernel(name, text, (f"{source}=1",))


def sort(name: str, length: int) -> Kernel:
    """Numbers to be put in order that stand the other way round: IREE exchanges neighbours."""
    tensor = f"tensor<{length}xf32>"
    text = f"""func.func @{name}(%a: {tensor}) -> {tensor} {{
  %c = iree_linalg_ext.sort dimension(0) outs(%a : {tensor}) {{
  ^bb0(%x: f32, %y: f32):
    %r = arith.cmpf olt, %x, %y : f32
    iree_linalg_ext.yield %r : i1
  }} -> {tensor}
  return %c : {tensor}
}}"""
    return Kernel(name, text, (f"{length}xf32={' '.join(map(str, range(length, 0, -1)))}",))


def ticks(name: str, length: int) -> Kernel:
    """A chain of `2 * length` integer operations that take one cycle each on any core."""
    text = f"""func.func @{name}(%a: tensor<{length}xi32>) -> tensor<i32> {{
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<i32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<i32>) -> tensor<i32>
  %c = linalg.generic {{
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>],
      iterator_types = ["reduction"]}} ins(%a : tensor<{length}xi32>) outs(%init : tensor<i32>) {{
  ^bb0(%x: i32, %old: i32):
    %y = arith.xori %old, %x : i32
    %r = arith.addi %y, %x : i32
    linalg.yield %r : i32
  }} -> tensor<i32>
  return %c : tensor<i32>
}}"""
    return Kernel(name, text, (f"{length}xi32=3",))


def chain(name: str, length: int, count: int, *, threads: int) -> Kernel:
    """`count` sums one after another, each of what the last one wrote and of an input: every
    dispatch finds its operands where another left them."""
    tensor = f"tensor<{length}xf32>"
    lines, last = [], "%a"
    for number in range(count):
        lines.append(f"  %e{number} = tensor.empty() : {tensor}")
        lines.append(
            f"  %s{number} = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, "
            "affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], "
            f'iterator_types = ["parallel"]}} ins({last}, %b : {tensor}, {tensor}) '
            f"outs(%e{number} : {tensor}) {{"
        )
        lines.append("  ^bb0(%x: f32, %y: f32, %old: f32):")
        lines.append("    %r = arith.addf %x, %y : f32")
        lines.append("    linalg.yield %r : f32")
        lines.append(f"  }} -> {tensor}")
        lines.append(f"  %o{number} = util.optimization_barrier %s{number} : {tensor}")
        last = f"%o{number}"
    body = "\n".join(lines)
    text = f"""func.func @{name}(%a: {tensor}, %b: {tensor}) -> {tensor} {{
{body}
  return {last} : {tensor}
}}"""
    return Kernel(name, text, (f"{length}xf32=1", f"{length}xf32=2"), threads)
