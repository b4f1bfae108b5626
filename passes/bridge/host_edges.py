"""Edges between the basic blocks of a function, with the values that each passes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from iree.compiler import ir


@dataclass(frozen=True)
class Edge:
    """Control going from block `source` as successor number `index` of its terminator."""

    source: int
    index: int
    target: int
    terminator: ir.Operation

    def value(self, argument: int) -> ir.Value | None:
        """What block argument `argument` of the target becomes; None for unknown terminators."""
        start, count = _passed(self.terminator, self.index)
        return self.terminator.operands[start + argument] if argument < count else None


def incoming(blocks: list[ir.Block]) -> list[list[Edge]]:
    """Edges into each block."""
    into: list[list[Edge]] = [[] for _ in blocks]
    for edge in outgoing(blocks):
        into[edge.target].append(edge)
    return into


def outgoing(blocks: list[ir.Block]) -> Iterator[Edge]:
    """All edges, by source block and successor number."""
    for source, block in enumerate(blocks):
        for index, successor in enumerate(block.successors):
            yield Edge(source, index, blocks.index(successor), terminator(block))


def terminator(block: ir.Block) -> ir.Operation:
    """The last operation of a block."""
    *_, last = block.operations
    return last.operation


def condition(block: ir.Block) -> ir.Value | None:
    """What decides where control goes after a block; None where nothing does."""
    op = terminator(block)
    return op.operands[0] if op.name in ("cf.cond_br", "cf.switch") else None


def _passed(op: ir.Operation, successor: int) -> tuple[int, int]:
    """First operand and number of operands that go to a successor."""
    if op.name == "cf.br":
        return 0, len(op.operands)
    if op.name == "cf.cond_br":
        sizes = list(op.attributes["operandSegmentSizes"])
        return sum(sizes[: successor + 1]), sizes[successor + 1]
    if op.name == "cf.switch":
        flag, default, _ = op.attributes["operandSegmentSizes"]
        sizes = [default, *op.attributes["case_operand_segments"]]
        return flag + sum(sizes[:successor]), sizes[successor]
    return 0, 0
