"""Transfers along trees: up to the root, adding, and down from it, copying."""

from __future__ import annotations

from collections.abc import Sequence

from xpu_shark.simulator.collectives.schedule import Listed, Transfer

Edges = Sequence[Sequence[tuple[int, int]]]  # rounds of (from, to), from the root outwards


def lane(kind: str, down: Edges, root: int = 0) -> Listed:
    """Broadcast from, reduce to, or all-reduce over device 0, by way of the tree's own root."""
    detour = [] if root == 0 else [((0, root),)]
    outwards = [*(detour if kind == "broadcast" else []), *down]
    inwards = [*(detour if kind == "reduce" else []), *down]
    rounds: list[tuple[Transfer, ...]] = []
    if kind in ("reduce", "all_reduce"):
        last = len(detour) if kind == "reduce" else 0
        for number, edges in reversed(list(enumerate(inwards))):
            rounds.append(_up(edges, reduce=number >= last))
    if kind in ("broadcast", "all_reduce"):
        rounds.extend(tuple(Transfer(a, b, (0,)) for a, b in edges) for edges in outwards)
    return Listed(1, tuple(rounds))


def levels(parent: Sequence[int], root: int) -> list[list[tuple[int, int]]]:
    """(parent, child) by depth."""
    children: list[list[int]] = [[] for _ in parent]
    for node, up in enumerate(parent):
        if node != root:
            children[up].append(node)
    found: list[list[tuple[int, int]]] = []
    above = [root]
    while edges := [(up, child) for up in above for child in children[up]]:
        found.append(edges)
        above = [child for _, child in edges]
    return found


def _up(edges: Sequence[tuple[int, int]], *, reduce: bool) -> tuple[Transfer, ...]:
    return tuple(Transfer(child, parent, (0,), reduce) for parent, child in edges)
