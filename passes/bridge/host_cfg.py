"""Structured control flow from a graph of basic blocks: sequences, loops and branches.

Every strongly connected part is a loop, entered at its header; one that is entered at several
blocks takes the first of them. With the edges to the header left out the part falls into smaller
ones, and so on. What remains is acyclic at each level: a branch ends at the nearest block that all
of its arms reach, and a block that several arms share without ending them is repeated in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xpu_shark.passes.bridge.components import components

Graph = Sequence[Sequence[int]]  # successors of each block, by number
_END = -1
_COPIES = 64  # of the graph's size: how much repeating of shared blocks is worth being exact


@dataclass(frozen=True)
class Code:
    """What one block does by itself."""

    block: int


@dataclass(frozen=True)
class Loop:
    """`body` again and again; it ends before the next turn, `blocks` are all inside it."""

    header: int
    blocks: frozenset[int]
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Branch:
    """One of `arms`; `targets[i]` is the block that control goes to for `arms[i]`.

    `block` decides; it is None where no single one does (a loop with several ways out, or
    an optional block of a region too tangled to repeat).
    """

    block: int | None
    targets: tuple[int, ...]
    arms: tuple[tuple[Node, ...], ...]


Node = Code | Loop | Branch


def structure(graph: Graph, entry: int = 0) -> tuple[Node, ...]:
    """The program that `graph` spells, from `entry`; blocks that cannot be reached are left out.

    Edges out of a loop are not branches: they end it, and what they lead to follows the loop.
    """
    reached, pending = {entry}, [entry]
    while pending:
        for block in graph[pending.pop()]:
            if block not in reached:
                reached.add(block)
                pending.append(block)
    return _Level(graph, frozenset(reached), entry, None, [len(graph) * _COPIES]).program


class _Level:
    """The blocks of one loop body, or of the whole function: an acyclic graph of units."""

    def __init__(
        self,
        graph: Graph,
        blocks: frozenset[int],
        entry: int,
        header: int | None,
        budget: list[int],
    ) -> None:
        self._graph, self._blocks, self._header, self._budget = graph, blocks, header, budget
        self._entry = entry
        # Successors come before their predecessors, so a higher number is earlier in the program.
        self._units = components(sorted(blocks), self._inside)
        self._unit_of = {block: i for i, unit in enumerate(self._units) for block in unit}
        self._targets = [self._leave(unit) for unit in self._units]
        self._joins = self._find_joins()
        self._nodes: dict[int, Node] = {}
        self.program = self._walk(self._unit_of[entry], _END)

    def _inside(self, block: int) -> list[int]:
        return [to for to in self._graph[block] if to in self._blocks and to != self._header]

    def _leave(self, unit: tuple[int, ...]) -> tuple[int, ...]:
        """Where control goes from `unit`, one block for each unit; the header ends the turn."""
        stay = self._blocks if self._header is None else self._blocks | {self._header}
        targets: dict[int, int] = {}
        for block in unit:
            for to in self._graph[block]:
                if self._goes_out(to, unit, stay):
                    targets.setdefault(self._unit(to), to)
        return tuple(targets.values())

    def _goes_out(self, to: int, unit: tuple[int, ...], stay: frozenset[int]) -> bool:
        return to in stay and (to not in unit or to == self._header)

    def _unit(self, target: int) -> int:
        return _END if target == self._header else self._unit_of[target]

    def _find_joins(self) -> list[int]:
        """For each unit the nearest later one that is on every way from it, or the end."""
        after: list[int] = []  # bit sets of the units on every way from each, itself included
        joins: list[int] = []
        for i, targets in enumerate(self._targets):
            common = ~0 if targets else 0
            for target in targets:
                unit = self._unit(target)
                common &= 0 if unit == _END else after[unit]
            joins.append(common.bit_length() - 1 if common else _END)
            after.append(common | 1 << i)
        return joins

    def _walk(self, unit: int, stop: int) -> tuple[Node, ...]:
        nodes: list[Node] = []
        while unit not in (stop, _END):
            self._budget[0] -= 1
            nodes.append(self._node(unit))
            targets, join = self._targets[unit], self._joins[unit]
            if len(targets) > 1:
                nodes.extend(self._branch(unit, join))
            unit = join
        return tuple(nodes)

    def _branch(self, unit: int, join: int) -> list[Node]:
        targets = self._targets[unit]
        if self._budget[0] <= 0:
            return [Branch(None, (), ((self._node(i),), ())) for i in self._between(unit, join)]
        arms = tuple(self._walk(self._unit(target), join) for target in targets)
        single = self._units[unit][0] if isinstance(self._node(unit), Code) else None
        return [Branch(single, targets, arms)]

    def _between(self, unit: int, join: int) -> list[int]:
        """Units that some way from `unit` to `join` passes, in program order."""
        seen: set[int] = set()
        pending = [unit]
        while pending:
            for target in self._targets[pending.pop()]:
                after = self._unit(target)
                if after not in (join, _END) and after not in seen:
                    seen.add(after)
                    pending.append(after)
        return sorted(seen, reverse=True)

    def _node(self, unit: int) -> Node:
        if unit not in self._nodes:
            self._nodes[unit] = self._make(self._units[unit])
        return self._nodes[unit]

    def _make(self, unit: tuple[int, ...]) -> Node:
        first = min(unit)
        if len(unit) == 1 and first not in self._inside(first):
            return Code(first)
        blocks = frozenset(unit)
        outside = [b for b in self._blocks - blocks for to in self._inside(b) if to in blocks]
        entries = {to for b in outside for to in self._graph[b] if to in blocks}
        header = min(entries | ({self._entry} & blocks), default=first)
        body = _Level(self._graph, blocks, header, header, self._budget).program
        return Loop(header, blocks, body)
