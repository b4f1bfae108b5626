"""Sizes that may not be known yet: integers, or expressions over named symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

import msgspec

Value = int | Fraction  # of a symbol: a fraction where it is a mean of several loops


class Expr(msgspec.Struct, frozen=True):
    """`op` applied to `args`; a leaf is `Expr("symbol", (name,))`."""

    op: str
    args: tuple[int | str | Expr, ...]

    def __str__(self) -> str:
        if self.op == "symbol":
            return str(self.args[0])
        if self.op in _INFIX:
            return "(" + f" {_INFIX[self.op]} ".join(map(str, self.args)) + ")"
        return f"{self.op}({', '.join(map(str, self.args))})"


class UnboundError(ValueError):
    """A size was asked for while some of its symbols have no value."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(f"no value for {', '.join(names)}")
        self.names = names


def symbol(name: str) -> Expr:
    return Expr("symbol", (name,))


def apply(op: str, *args: int | Expr) -> int | Expr:
    """`op` on `args`, folded where all are integers; `op` is a key of the table below."""
    if all(isinstance(arg, int) for arg in args):
        return _OPS[op](*args)
    if op in ("add", "sub") and args[1] == 0:
        return args[0]
    if op in ("mul", "floordiv", "ceildiv") and args[1] == 1:
        return args[0]
    if op == "mul" and 0 in args:
        return 0
    return Expr(op, args)


def product(sizes: tuple[int | Expr, ...]) -> int | Expr:
    result: int | Expr = 1
    for size in sizes:
        result = (
            apply("mul", size, result) if isinstance(result, int) else apply("mul", result, size)
        )
    return result


def evaluate(size: int | Expr, env: Mapping[str, Value]) -> int:
    """The integer that `size` stands for, or the nearest one where a mean leaves a fraction.

    `UnboundError` names every symbol that is missing.
    """
    if isinstance(size, int):
        return size
    missing = tuple(name for name in symbols(size) if name not in env)
    if missing:
        raise UnboundError(missing)
    return round(_evaluate(size, env))


def substitute(size: int | Expr, values: Mapping[str, int | Expr]) -> int | Expr:
    """`size` with the symbols in `values` replaced, folded where possible."""
    if isinstance(size, int):
        return size
    if size.op == "symbol":
        return values.get(str(size.args[0]), size)
    return apply(size.op, *(substitute(arg, values) for arg in size.args))  # type: ignore[arg-type]


def symbols(*sizes: int | Expr) -> tuple[str, ...]:
    """Names in `sizes`, each once, in order of appearance."""
    return tuple(dict.fromkeys(name for size in sizes for name in _symbols(size)))


def _symbols(size: int | str | Expr) -> Iterator[str]:
    if isinstance(size, Expr):
        if size.op == "symbol":
            yield str(size.args[0])
            return
        for arg in size.args:
            yield from _symbols(arg)


def _evaluate(size: int | str | Expr, env: Mapping[str, Value]) -> Value:
    if isinstance(size, int):
        return size
    assert isinstance(size, Expr)
    if size.op == "symbol":
        return env[str(size.args[0])]
    return _OPS[size.op](*(_evaluate(arg, env) for arg in size.args))


# Division by zero only arises from dead branches of a program; 0 keeps them harmless.
_OPS: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b if b else 0,
    "ceildiv": lambda a, b: -(-a // b) if b else 0,
    "mod": lambda a, b: a % b if b else 0,
    "max": max,
    "min": min,
}
_INFIX = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}
