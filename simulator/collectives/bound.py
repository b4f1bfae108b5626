"""Least times of a collective, and what one device did in a simulated one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import msgspec

from xpu_shark.simulator.network import Fabric
from xpu_shark.simulator.target import PS_PER_S
from xpu_shark.simulator.timeline import Timeline

# Bytes that a device has to send (or receive) of a payload of n on p devices, times p / n.
LEAST: dict[str, Callable[[int], int]] = {
    "all_reduce": lambda p: 2 * (p - 1),
    "all_gather": lambda p: p - 1,
    "reduce_scatter": lambda p: p - 1,
    "all_to_all": lambda p: p - 1,
}


def bound_ps(fabric: Fabric, kind: str, bytes: int, members: int = 0) -> int:
    """What a device's links need at their rates, all at once, for the bytes that it has to send by
    any algorithm: rooted ones and permutations move the whole payload. A group has so many
    `members` (0: all devices)."""
    p = members or fabric.devices
    parts = LEAST[kind](p) if kind in LEAST else p
    return int(bytes * parts * PS_PER_S / (p * fabric.egress_bytes_per_s))


class Device(msgspec.Struct, frozen=True):
    """One device's part of a run: busy time of all its resources, bytes by "link" and memory."""

    busy_ps: int
    bytes: dict[str, int]


def busiest(timeline: Timeline, fabric: Fabric, memory: str) -> Device:
    """The device whose resources worked longest; one that stands for all is the only one.

    "link" bytes are those that leave it on links of its own, passing ones included.
    """
    ports = {level.name for level in fabric.levels}
    busy: defaultdict[str, int] = defaultdict(int)
    moved: defaultdict[str, dict[str, int]] = defaultdict(lambda: {"link": 0, memory: 0})
    for use in timeline.resources:
        name, _, device = use.name.partition("@")
        busy[device] += use.busy_ps
        level, _, port = name.rpartition(".")
        if level in ports and port != "in":
            moved[device]["link"] += use.bytes
        elif name == memory:
            moved[device][memory] += use.bytes
    device = max(busy, key=lambda name: (busy[name], name))
    return Device(busy[device], {name: n for name, n in moved[device].items() if n})
