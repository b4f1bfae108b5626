"""Double binary tree: two trees, each with half of the payload, a leaf of one inside the other.

A node of one tree sends to two children, so it sends twice the half: with many chunks every device
sends the payload once, after about log2(p) latencies each way (Sanders, Speck, Traeff, "Two-tree
algorithms for full bandwidth broadcast, reduction and scan", 2009).
"""

from __future__ import annotations

from xpu_shark.simulator.collectives import tree
from xpu_shark.simulator.collectives.schedule import Schedule
from xpu_shark.simulator.network import Fabric


def schedule(kind: str, fabric: Fabric) -> Schedule | None:
    """None for two devices, where both trees are the one link."""
    p = fabric.devices
    if p < 3:
        return None
    first = parents(p)
    rename = [(p - 1 - n) if p % 2 == 0 else (n + 1) % p for n in range(p)]
    second = [0] * p
    for node, parent in enumerate(first):
        second[rename[node]] = rename[parent]
    lanes = (
        tree.lane(kind, tree.levels(first, 0)),
        tree.lane(kind, tree.levels(second, rename[0]), root=rename[0]),
    )
    return Schedule(p, lanes)


def parents(p: int) -> list[int]:
    """The tree in which odd numbers are leaves: node n hangs below the next number with a higher
    lowest bit, or, where that is past the end, below n without its lowest bit. 0 is the root."""
    found = [0]
    for node in range(1, p):
        lowest = node & -node
        above = (node ^ lowest) | (lowest << 1)
        found.append(above if above < p else node ^ lowest)
    return found
