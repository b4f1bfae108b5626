"""One function of the host program while it is read: its blocks, arguments, loops and names."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, partial

from iree.compiler import ir

from xpu_shark.passes.bridge.host_arguments import block_argument
from xpu_shark.passes.bridge.host_edges import Edge, incoming
from xpu_shark.passes.bridge.host_program import Program
from xpu_shark.passes.bridge.host_values import LEAVES
from xpu_shark.passes.bridge.sizes import Size, SizeReader
from xpu_shark.simulator.symbolic import Expr, symbol


@dataclass
class Names:
    """Gives out the names of one reported function: `main.loop0`, `main.value3`, ..."""

    function: str
    inputs: tuple[str, ...] = ()
    unknown: list[str] = field(default_factory=list)  # of sizes that no reader understands
    _counts: Counter[str] = field(default_factory=Counter)
    _buffers: dict[object, int] = field(default_factory=dict)

    def number(self, kind: str) -> int:
        """The next number of a kind, from 0."""
        self._counts[kind] += 1
        return self._counts[kind] - 1

    def new(self, kind: str) -> str:
        """The next name of a kind."""
        return f"{self.function}.{kind}{self.number(kind)}"

    def buffer(self, identity: object) -> int:
        """The number of a buffer, by what tells it from others."""
        return self._buffers.setdefault(identity, len(self._buffers))

    def iteration(self, loop: int) -> Expr:
        """The number of a loop's current turn, from 0."""
        return symbol(f"{self.function}.iv{loop}")


@dataclass(frozen=True)
class Call:
    """Where an inlined function was called."""

    caller: Frame
    arguments: tuple[ir.Value, ...]


@dataclass(frozen=True)
class EnteredLoop:
    """A loop by its number in the reported function, with the blocks inside it."""

    number: int
    blocks: frozenset[int]


@dataclass
class Frame:
    """A function body under one call; `loops` are those entered so far, by header block."""

    program: Program
    names: Names
    function: str
    blocks: list[ir.Block]
    call: Call | None = None
    loops: dict[int, EnteredLoop] = field(default_factory=dict)
    results: dict[ir.Value, tuple[Frame, ir.Value]] = field(
        default_factory=dict
    )  # of inlined calls
    reader: SizeReader = field(init=False)

    def __post_init__(self) -> None:
        leaves = dict.fromkeys(LEAVES, self._leaf)
        self.reader = SizeReader(leaves, partial(block_argument, self))
        self.reader.unknown = self.names.unknown  # so that two calls never share a name

    def _leaf(self, reader: SizeReader, value: ir.OpResult) -> Size:
        name = value.owner.operation.name
        size = LEAVES[name](self, reader, value)
        return reader.fresh(name) if size is None else size

    @property
    def chain(self) -> tuple[str, ...]:
        """Functions being read, outermost first."""
        return (*(self.call.caller.chain if self.call else ()), self.function)

    @cached_property
    def edges(self) -> list[list[Edge]]:
        """Edges into each block."""
        return incoming(self.blocks)

    def entry_argument(self, value: ir.Value) -> int | None:
        """The number of `value` among the function's own arguments, None for any other value."""
        is_entry = isinstance(value, ir.BlockArgument) and value.owner == self.blocks[0]
        return int(value.arg_number) if is_entry else None

    def reported_argument(self, value: ir.Value) -> int | None:
        """Which argument of the reported function `value` is, seen through inlined calls."""
        number = self.entry_argument(value)
        if number is None or self.call is None:
            return number
        return self.call.caller.reported_argument(self.call.arguments[number])

    def outer_size(self, number: int) -> Size | None:
        """What the function's own argument `number` is: a caller's value or an input."""
        if self.call is not None:
            return self.call.caller.reader.read(self.call.arguments[number])
        return symbol(self.names.inputs[number]) if number < len(self.names.inputs) else None
