"""Sizes from SSA: what an index or integer value is, as a number or over named symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from iree.compiler import ir

from xpu_shark.passes.bridge.size_ops import ARITHMETIC
from xpu_shark.simulator.symbolic import Expr, symbol

Size = int | Expr
Leaf = Callable[["SizeReader", ir.OpResult], Size]


def is_unknown(name: str) -> bool:
    """Whether a symbol stands for something that no reader understood."""
    return name.startswith("unknown.")


class SizeReader:
    """Evaluates integer SSA values, each once.

    `leaves` maps an op name to the function that says what its result is; it is asked before
    the arithmetic of `size_ops`, so a caller adds or overrides ops by name. `argument` says what
    a block argument is. Whatever stays unknown becomes a symbol of its own, `unknown.<op name>`,
    and is listed in `unknown`.
    """

    def __init__(
        self,
        leaves: Mapping[str, Leaf],
        argument: Callable[[ir.BlockArgument], Size | None] = lambda _: None,
    ) -> None:
        self._leaves = leaves
        self._argument = argument
        self._known: dict[ir.Value, Size] = {}
        self.unknown: list[str] = []

    def read(self, value: ir.Value) -> Size:
        """The size that `value` stands for; never raises."""
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = self._read(value)
        return known

    def bind(self, value: ir.Value, size: Size) -> None:
        """Fix what `value` is: a call's argument, a loop's counter."""
        self._known[value] = size

    def where(self, value: ir.Value, size: Size) -> SizeReader:
        """A reader that knows the same block arguments, and `value` to be `size`."""
        reader = SizeReader(self._leaves, self._argument)
        arguments = (item for item in self._known.items() if isinstance(item[0], ir.BlockArgument))
        reader._known = {**dict(arguments), value: size}
        return reader

    def fresh(self, what: str) -> Expr:
        """A symbol of its own for something that cannot be known: `unknown.<what>`."""
        name = f"unknown.{what}"
        count = sum(known == name or known.startswith(f"{name}#") for known in self.unknown)
        self.unknown.append(f"{name}#{count + 1}" if count else name)
        return symbol(self.unknown[-1])

    def mixed(self, static: Iterable[int], dynamic: Iterable[ir.Value]) -> tuple[Size, ...]:
        """Static sizes with every dynamic marker replaced by the next of `dynamic`."""
        marker = ir.ShapedType.get_dynamic_size()
        values = iter(dynamic)
        return tuple(self.read(next(values)) if size == marker else size for size in static)

    def _read(self, value: ir.Value) -> Size:
        if isinstance(value, ir.BlockArgument):
            size = self._argument(value)
            return self.fresh(f"argument{value.arg_number}") if size is None else size
        name = value.owner.operation.name
        reader = self._leaves.get(name) or ARITHMETIC.get(name)
        size = reader(self, value) if reader else None
        return self.fresh(name) if size is None else size
