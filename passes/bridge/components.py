"""Strongly connected components (Tarjan), without recursion: host programs can be long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


def components(
    nodes: Iterable[int], successors: Callable[[int], Iterable[int]]
) -> list[tuple[int, ...]]:
    """Components of the graph, each sorted, every one after all that it leads to."""
    search = _Search(successors)
    for node in nodes:
        if node not in search.order:
            search.run(node)
    return search.found


class _Search:
    def __init__(self, successors: Callable[[int], Iterable[int]]) -> None:
        self._successors = successors
        self.order: dict[int, int] = {}
        self._low: dict[int, int] = {}
        self._stack: list[int] = []
        self._open: set[int] = set()
        self.found: list[tuple[int, ...]] = []

    def run(self, root: int) -> None:
        path: list[tuple[int, Iterator[int]]] = [self._enter(root)]
        while path:
            node, rest = path[-1]
            step = next(rest, None)
            if step is None:
                path.pop()
                self._leave(node)
                if path:
                    parent = path[-1][0]
                    self._low[parent] = min(self._low[parent], self._low[node])
            elif step not in self.order:
                path.append(self._enter(step))
            elif step in self._open:
                self._low[node] = min(self._low[node], self.order[step])

    def _enter(self, node: int) -> tuple[int, Iterator[int]]:
        self.order[node] = self._low[node] = len(self.order)
        self._stack.append(node)
        self._open.add(node)
        return node, iter(self._successors(node))

    def _leave(self, node: int) -> None:
        """`node` is done: if nothing below leads above it, it closes a component."""
        if self._low[node] != self.order[node]:
            return
        at = self._stack.index(node)
        unit = self._stack[at:]
        del self._stack[at:]
        self._open.difference_update(unit)
        self.found.append(tuple(sorted(unit)))
