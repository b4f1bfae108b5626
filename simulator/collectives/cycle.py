"""A closed walk over all devices that takes one link a step: what a ring algorithm runs on."""

from __future__ import annotations

from collections.abc import Sequence

from xpu_shark.simulator.network import Fabric

NEIGHBOURS = ("ring", "line", "ring_one_way")


def cycle(fabric: Fabric) -> tuple[int, ...] | None:
    """Devices in the order of the walk, each a neighbour of the next and the last of the first.

    A grid has one where an extent is even. None where there is none or where links differ, as
    between groups on a slower network.
    """
    levels = fabric.levels
    costs = {(at.bytes_per_s, at.latency_ps, at.message_ps, at.in_flight) for at in levels}
    if len(costs) > 1:
        return None
    if len(levels) < 2:
        line_only = any(level.kind == "line" for level in levels)
        return None if line_only else tuple(range(fabric.devices))
    if not all(at.kind in NEIGHBOURS or (at.kind == "full" and at.extent == 2) for at in levels):
        return None
    line: list[int] = list(range(levels[0].extent))
    for level in levels[1:-1]:
        line = _snake(line, level.extent)
    rows = [[row * len(line) + device for device in line] for row in range(levels[-1].extent)]
    return _closed(rows)


def _snake(line: Sequence[int], copies: int) -> list[int]:
    """To and fro over `copies` of a walk."""
    walk: list[int] = []
    for copy in range(copies):
        row = [copy * len(line) + device for device in line]
        walk.extend(row if copy % 2 == 0 else reversed(row))
    return walk


def _closed(rows: list[list[int]]) -> tuple[int, ...] | None:
    """Out along a snake that leaves the first column free, back through that column."""
    if len(rows) % 2:
        rows = [list(column) for column in zip(*rows, strict=True)]
    if len(rows) % 2 or min(len(rows), len(rows[0])) < 2:
        return None
    walk: list[int] = []
    for number, row in enumerate(rows):
        walk.extend(row[1:] if number % 2 == 0 else reversed(row[1:]))
    return (*walk, *(row[0] for row in reversed(rows)))
