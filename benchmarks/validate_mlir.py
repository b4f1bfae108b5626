"""MLIR of the operators that were timed, one public function each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

from validate_rows import Row


def module(rows: Sequence[Row]) -> str:
    """One module with a function `row0`, `row1`, ... for each row, all of one device."""
    text = "\n".join(_GENERATORS[row.operator](f"row{n}", *row.sizes) for n, row in enumerate(rows))
    if rows[0].operator != "all_reduce":
        return text
    attributes = "mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32"
    return f"module attributes {{{attributes}}} {{\n{text}}}\n"


def _func(name: str, arguments: str, result: str, body: str) -> str:
    return f"func.func @{name}({arguments}) -> {result} {{\n{body}\n}}\n"


def _tensor(*shape: int, element: str) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def _dot(result: str, lhs: str, rhs: str, types: tuple[str, str, str]) -> str:
    a, b, c = types
    return (
        f"  %{result} = stablehlo.dot_general %{lhs}, %{rhs}, contracting_dims = [1] x [0] : "
        f"({a}, {b}) -> {c}"
    )


def _gemm(name: str, m: int, k: int, n: int) -> str:
    a, b, c = (_tensor(*shape, element="bf16") for shape in ((m, k), (k, n), (m, n)))
    body = f"{_dot('0', 'a', 'b', (a, b, c))}\n  return %0 : {c}"
    return _func(name, f"%a: {a}, %b: {b}", c, body)


def _matmul_f16(name: str, m: int, k: int, n: int) -> str:
    a, b, c = (_tensor(*shape, element="f16") for shape in ((m, k), (k, n), (m, n)))
    wide = _tensor(m, n, element="f32")
    body = "\n".join(
        [
            _dot("0", "a", "b", (a, b, wide)),
            f"  %1 = stablehlo.convert %0 : ({wide}) -> {c}",
            f"  return %1 : {c}",
        ]
    )
    return _func(name, f"%a: {a}, %b: {b}", c, body)


def _ffn_erf(name: str, m: int, width: int, hidden: int) -> str:
    x, h = _tensor(m, width, element="bf16"), _tensor(m, hidden, element="bf16")
    up, down = _tensor(width, hidden, element="bf16"), _tensor(hidden, width, element="bf16")
    body = "\n".join(
        [
            _dot("h", "x", "up", (x, up, h)),
            f"  %half = stablehlo.constant dense<0.5> : {h}",
            f"  %one = stablehlo.constant dense<1.0> : {h}",
            f"  %root = stablehlo.constant dense<{1 / sqrt(2):.6f}> : {h}",
            f"  %s = stablehlo.multiply %h, %root : {h}",
            f"  %e = chlo.erf %s : {h} -> {h}",
            f"  %e1 = stablehlo.add %e, %one : {h}",
            f"  %h2 = stablehlo.multiply %h, %half : {h}",
            f"  %g = stablehlo.multiply %h2, %e1 : {h}",
            _dot("y", "g", "down", (h, down, x)),
            f"  return %y : {x}",
        ]
    )
    return _func(name, f"%x: {x}, %up: {up}, %down: {down}", x, body)


def _ffn_gated(name: str, m: int, width: int, hidden: int) -> str:
    x, h = _tensor(m, width, element="bf16"), _tensor(m, hidden, element="bf16")
    up, down = _tensor(width, hidden, element="bf16"), _tensor(hidden, width, element="bf16")
    body = "\n".join(
        [
            _dot("g", "x", "gate", (x, up, h)),
            _dot("u", "x", "up", (x, up, h)),
            f"  %l = stablehlo.logistic %g : {h}",
            f"  %s = stablehlo.multiply %g, %l : {h}",
            f"  %p = stablehlo.multiply %s, %u : {h}",
            _dot("y", "p", "down", (h, down, x)),
            f"  return %y : {x}",
        ]
    )
    return _func(name, f"%x: {x}, %gate: {up}, %up: {up}, %down: {down}", x, body)


def _attention(
    name: str, loops: str, maps: tuple[str, str, str, str], shapes: tuple[str, str, str], d: int
) -> str:
    """`maps` and `shapes` of query, key and value, and result (shaped as the query)."""
    q, k, v = shapes
    parts = [f"affine_map<({loops}) -> ({positions})>" for positions in maps]
    texts = [*parts[:3], f"affine_map<({loops}) -> ()>", parts[3]]
    body = "\n".join(
        [
            f"  %scale = arith.constant {1 / sqrt(d):.6f} : bf16",
            f"  %e = tensor.empty() : {q}",
            f"  %0 = iree_linalg_ext.attention <{{indexing_maps = [{', '.join(texts)}]}}>",
            f"    ins(%q, %k, %v, %scale : {q}, {k}, {v}, bf16) outs(%e : {q}) {{",
            "  ^bb0(%x: f32):",
            "    iree_linalg_ext.yield %x : f32",
            f"  }} -> {q}",
            f"  return %0 : {q}",
        ]
    )
    return _func(name, f"%q: {q}, %k: {k}, %v: {v}", q, body)


def _plain(name: str, heads: int, queries: int, keys: int, d: int) -> str:
    q, kv = _tensor(heads, queries, d, element="bf16"), _tensor(heads, keys, d, element="bf16")
    maps = ("b, m, k1", "b, k2, k1", "b, k2, n", "b, m, n")
    return _attention(name, "b, m, n, k1, k2", maps, (q, kv, kv), d)


def _encoder(name: str, heads: int, length: int, d: int) -> str:
    return _plain(name, heads, length, length, d)


def _grouped(name: str, heads: int, cached: int, queries: int, keys: int, d: int) -> str:
    """Query heads share a cached head in groups of `heads / cached`, tokens first, as a serving
    program's cache has them. Heads of their own come first, as frameworks' attention takes them."""
    group = heads // cached
    if group == 1:
        return _plain(name, heads, queries, keys, d)
    q, kv = (
        _tensor(queries, cached, group, d, element="bf16"),
        _tensor(keys, cached, d, element="bf16"),
    )
    maps = ("m, b, g, k1", "k2, b, k1", "k2, b, n", "m, b, g, n")
    return _attention(name, "b, g, m, n, k1, k2", maps, (q, kv, kv), d)


def _prefill(name: str, batch: int, heads: int, cached: int, length: int, d: int) -> str:
    return _grouped(name, batch * heads, batch * cached, length, length, d)


def _decode(name: str, batch: int, heads: int, cached: int, length: int, d: int) -> str:
    return _grouped(name, batch * heads, batch * cached, 1, length, d)


def _reduce(result: str, source: str, init: str, kind: str, m: int, n: int) -> str:
    return (
        f"  %{result} = stablehlo.reduce(%{source} init: %{init}) applies stablehlo.{kind} across "
        f"dimensions = [1] : (tensor<{m}x{n}xf32>, tensor<f32>) -> tensor<{m}xf32>"
    )


def _spread(result: str, source: str, m: int, n: int) -> str:
    """A column to every element of its row."""
    return (
        f"  %{result} = stablehlo.broadcast_in_dim %{source}, dims = [0] : "
        f"(tensor<{m}xf32>) -> tensor<{m}x{n}xf32>"
    )


def _rows(name: str, m: int, n: int, lines: list[str]) -> str:
    """f16 in and out; `lines` compute %y from %w in f32, as frameworks do."""
    x, wide = _tensor(m, n, element="f16"), _tensor(m, n, element="f32")
    body = [
        "  %zero = stablehlo.constant dense<0.0> : tensor<f32>",
        f"  %w = stablehlo.convert %x : ({x}) -> {wide}",
        *lines,
        f"  %z = stablehlo.convert %y : ({wide}) -> {x}",
        f"  return %z : {x}",
    ]
    return _func(name, f"%x: {x}", x, "\n".join(body))


def _softmax(name: str, m: int, n: int) -> str:
    wide = _tensor(m, n, element="f32")
    lines = [
        "  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>",
        _reduce("max", "w", "low", "maximum", m, n),
        _spread("maxb", "max", m, n),
        f"  %d = stablehlo.subtract %w, %maxb : {wide}",
        f"  %e = stablehlo.exponential %d : {wide}",
        _reduce("sum", "e", "zero", "add", m, n),
        _spread("sumb", "sum", m, n),
        f"  %y = stablehlo.divide %e, %sumb : {wide}",
    ]
    return _rows(name, m, n, lines)


def _layernorm(name: str, m: int, n: int) -> str:
    """Mean and mean of squares in one pass; no scale and shift."""
    wide, column = _tensor(m, n, element="f32"), f"tensor<{m}xf32>"
    lines = [
        f"  %share = stablehlo.constant dense<{1 / n:.9f}> : {column}",
        f"  %tiny = stablehlo.constant dense<1.0e-5> : {column}",
        f"  %q = stablehlo.multiply %w, %w : {wide}",
        f"  %both:2 = stablehlo.reduce(%w init: %zero), (%q init: %zero) across dimensions = [1] : "
        f"({wide}, {wide}, tensor<f32>, tensor<f32>) -> ({column}, {column})",
        "  reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<f32>, %e: tensor<f32>) {",
        "    %ab = stablehlo.add %a, %b : tensor<f32>",
        "    %ce = stablehlo.add %c, %e : tensor<f32>",
        "    stablehlo.return %ab, %ce : tensor<f32>, tensor<f32>",
        "  }",
        f"  %mean = stablehlo.multiply %both#0, %share : {column}",
        f"  %meansq = stablehlo.multiply %both#1, %share : {column}",
        f"  %mm = stablehlo.multiply %mean, %mean : {column}",
        f"  %var = stablehlo.subtract %meansq, %mm : {column}",
        f"  %safe = stablehlo.add %var, %tiny : {column}",
        f"  %r = stablehlo.rsqrt %safe : {column}",
        _spread("meanb", "mean", m, n),
        _spread("rb", "r", m, n),
        f"  %d = stablehlo.subtract %w, %meanb : {wide}",
        f"  %y = stablehlo.multiply %d, %rb : {wide}",
    ]
    return _rows(name, m, n, lines)


def _gelu(name: str, n: int) -> str:
    """The tanh form, computed in f32 as frameworks do for f16."""
    x, wide = f"tensor<{n}xf16>", f"tensor<{n}xf32>"
    body = "\n".join(
        [
            *(
                f"  %{key} = stablehlo.constant dense<{value}> : {wide}"
                for key, value in (("half", 0.5), ("one", 1.0), ("a", 0.044715), ("b", 0.797885))
            ),
            f"  %w = stablehlo.convert %x : ({x}) -> {wide}",
            f"  %s = stablehlo.multiply %w, %w : {wide}",
            f"  %c = stablehlo.multiply %s, %w : {wide}",
            f"  %ac = stablehlo.multiply %c, %a : {wide}",
            f"  %i = stablehlo.add %w, %ac : {wide}",
            f"  %bi = stablehlo.multiply %i, %b : {wide}",
            f"  %t = stablehlo.tanh %bi : {wide}",
            f"  %t1 = stablehlo.add %t, %one : {wide}",
            f"  %h = stablehlo.multiply %w, %half : {wide}",
            f"  %y = stablehlo.multiply %h, %t1 : {wide}",
            f"  %z = stablehlo.convert %y : ({wide}) -> {x}",
            f"  return %z : {x}",
        ]
    )
    return _func(name, f"%x: {x}", x, body)


def _all_reduce(name: str, size: int) -> str:
    x = f"tensor<{max(size // 2, 1)}xf16>"
    body = f"""  %0 = "stablehlo.all_reduce"(%x) ({{
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %s = stablehlo.add %a, %b : tensor<f16>
    stablehlo.return %s : tensor<f16>
  }}) {{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>,
      use_global_device_ids}} : ({x}) -> {x}
  return %0 : {x}"""
    return _func(name, f"%x: {x}", x, body)


_GENERATORS: dict[str, Callable[..., str]] = {
    "gemm": _gemm,
    "matmul_1024": _gemm,
    "matmul_4096": _gemm,
    "ffn_erf": _ffn_erf,
    "ffn_gated": _ffn_gated,
    "attn_enc": _encoder,
    "attn_dec": _grouped,
    "sdpa_prefill": _prefill,
    "sdpa_decode": _decode,
    "matmul": _matmul_f16,
    "softmax": _softmax,
    "layernorm": _layernorm,
    "gelu": _gelu,
    "all_reduce": _all_reduce,
}
