"""Groups of some of the devices: which links each group's messages take.

Several groups do the same collective at once. Where every group is cut out of the network in the
same way and keeps to links of its own, a small fabric of one group stands for all of them. Else all
groups are simulated together, on the real devices' links.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import msgspec

from xpu_shark.simulator.network import Fabric, Kind, Level, NetworkError

Group = tuple[int, ...]  # device numbers, by rank
Groups = tuple[Group, ...]


def check(groups: Groups, devices: int) -> None:
    """Raises `NetworkError` where a group names a device twice or one that is not there, or two
    groups share one. Devices in no group take no part."""
    owner: dict[int, Group] = {}
    last = max((device for group in groups for device in group), default=0)
    for group in groups:
        for device in group:
            if not 0 <= device < devices:
                raise NetworkError(
                    f"group {_shown(group)} names device {device}, but the devices are 0 to "
                    f"{devices - 1}: give --xpu-devices={last + 1} or more"
                )
            if device in owner:
                other = owner[device]
                where = "twice" if other is group else f"as {_shown(other)} does"
                raise NetworkError(f"group {_shown(group)} names device {device} {where}")
            owner[device] = group


def isolated(whole: Fabric, groups: Groups) -> Fabric | None:
    """The links of each group by itself; None where groups differ or could share links.

    A group that is a grid within the fabric routes its messages over its own members, if each side
    of the grid is a whole level, any devices behind a switch or with links to all peers, or a run
    of neighbours with no shorter way around.
    """
    found = {_grid(whole, group) for group in groups}
    levels = next(iter(found))
    if len(found) > 1 or levels is None or whole.straggles:
        return None
    return Fabric(levels)


def shape(whole: Fabric, group: Group) -> Fabric:
    """What algorithms take the group for: the grid that it is, or devices in no order."""
    sides = _sides(whole, group)
    if sides is None:
        one = msgspec.structs.replace(whole.levels[0], name="group")
        return Fabric((_resized(one, "switch", len(group)),))
    levels = [
        _resized(level, level.kind if level.kind in ("switch", "full") else "line", len(side))
        if len(side) < level.extent
        else level
        for level, side in zip(whole.levels, sides, strict=True)
        if len(side) > 1
    ]
    return Fabric(tuple(levels))


def _sides(whole: Fabric, group: Group) -> list[list[int]] | None:
    """The coordinates that a group has on each level; None where it is not all that they span."""
    sides, stride = [], 1
    for level in whole.levels:
        sides.append(sorted({device // stride % level.extent for device in group}))
        stride *= level.extent
    return sides if prod(map(len, sides)) == len(group) else None


def _grid(whole: Fabric, group: Group) -> tuple[Level, ...] | None:
    sides = _sides(whole, group)
    if sides is None:
        return None
    levels: list[Level] = []
    for level, side in zip(whole.levels, sides, strict=True):
        kind = _kind(level, side)
        if kind is None:
            return None
        if len(side) > 1:
            levels.append(_resized(level, kind, len(side)))
    return tuple(levels)


def _kind(level: Level, side: Sequence[int]) -> Kind | None:
    """How the devices at these coordinates are joined by links of their own."""
    count = len(side)
    if count in (1, level.extent) or level.kind in ("switch", "full"):
        return level.kind
    neighbours = all(b - a == 1 for a, b in pairwise(side))
    straight = level.kind == "line" or 2 * (count - 1) < level.extent
    if level.kind == "ring_one_way" or not neighbours or not straight:
        return None
    return "line" if count > 2 else "full"  # of two, simply one link each way


def _resized(level: Level, kind: Kind, extent: int) -> Level:
    return msgspec.structs.replace(level, kind=kind, extent=extent)


def _shown(group: Group) -> str:
    return f"[{', '.join(map(str, group))}]"
