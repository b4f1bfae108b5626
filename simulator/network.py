"""Links between devices: which ones a message takes, and what each costs.

A fabric is a stack of levels, innermost first, and a device has one coordinate a level. A torus is
one ring a dimension; 8 devices behind a switch and 16 such on a slower network are a switch of 8
and a switch of 16. A message goes level by level and, within a ring, the shorter way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from math import prod
from typing import Literal

import msgspec

from xpu_shark.simulator.target import Network, Protocol
from xpu_shark.simulator.units.cost import picoseconds

Kind = Literal["ring", "ring_one_way", "line", "switch", "full"]
DIMENSIONS = {"torus2d": 2, "torus3d": 3}


class NetworkError(ValueError):
    """The network cannot join so many devices; the message is one line for the user."""


class Level(msgspec.Struct, frozen=True):
    """`extent` devices (or groups of them) joined in one way.

    `bytes_per_s` is the rate of one link one way: to one neighbour, to the switch, to one peer.
    `message_ps` is what issuing one message takes of the first link, `latency_ps` the time from the
    last byte sent to the last byte there. `in_flight` is 0 where there is no limit.
    """

    name: str
    kind: Kind
    extent: int
    bytes_per_s: float
    latency_ps: int
    message_ps: int = 0
    in_flight: int = 0


class Link(msgspec.Struct, frozen=True):
    """One direction of one link: `port` of device `owner`. Ports of one name are alike."""

    owner: int
    port: str
    bytes_per_s: float
    latency_ps: int
    message_ps: int
    in_flight: int


class Slow(msgspec.Struct, frozen=True):
    """The link between two neighbours, both ways, or with one device its main memory and all links
    from and to it, at `factor` (over 0, at most 1) of the rate."""

    devices: tuple[int, ...]
    factor: float

    def __str__(self) -> str:
        return f"{'-'.join(map(str, self.devices))}:{self.factor:g}"


class Fabric(msgspec.Struct, frozen=True, dict=True):
    """Devices are numbered with the innermost level's coordinate running fastest. `slow` is the
    factor on the rate of single links, by (owner, port), `slow_memory` that on the rate of a
    device's main memory: stragglers."""

    levels: tuple[Level, ...]
    slow: Mapping[tuple[int, str], float] = {}
    slow_memory: Mapping[int, float] = {}

    @property
    def devices(self) -> int:
        return prod(level.extent for level in self.levels)

    @property
    def dims(self) -> tuple[int, ...]:
        return tuple(level.extent for level in self.levels)

    @property
    def uniform(self) -> bool:
        """Whether the fabric looks the same from every device."""
        return not self.straggles and all(level.kind != "line" for level in self.levels)

    @property
    def straggles(self) -> bool:
        """Whether any device or link is slower than the others."""
        return bool(self.slow or self.slow_memory)

    @cached_property
    def _paths(self) -> dict[tuple[int, int], tuple[Link, ...]]:
        return {}

    @cached_property
    def _links(self) -> dict[tuple[int, str, bool], Link]:
        return {}

    @property
    def egress_bytes_per_s(self) -> float:
        """The most that one device sends on all its links together."""
        return sum(_egress(level) for level in self.levels)

    def path(self, source: int, target: int) -> tuple[Link, ...]:
        """The links of a message in order; () from a device to itself."""
        found = self._paths.get((source, target))
        if found is None:
            found = self._paths[source, target] = self._path(source, target)
        return found

    def _path(self, source: int, target: int) -> tuple[Link, ...]:
        links: list[Link] = []
        stride = 1
        for level in self.levels:
            at = source // stride % level.extent
            to = target // stride % level.extent
            for place, port in _route(level, at, to):
                owner = source + (place - at) * stride
                links.append(self._link(level, owner, f"{level.name}.{port}", first=not links))
            source += (to - at) * stride
            stride *= level.extent
        return tuple(links)

    def _link(self, level: Level, owner: int, port: str, *, first: bool) -> Link:
        """Issuing a message takes its first link only."""
        found = self._links.get((owner, port, first))
        if found is None:
            latency = 0 if port.endswith(".in") else level.latency_ps
            rate = level.bytes_per_s * self.slow.get((owner, port), 1.0)
            message = level.message_ps if first else 0
            found = Link(owner, port, rate, latency, message, level.in_flight)
            self._links[owner, port, first] = found
        return found


def fabric(network: Network, devices: int, protocol: Protocol | None = None) -> Fabric:
    """`devices` joined as `network` says, messages handed over as `protocol` says.

    Raises `NetworkError` where the network cannot join them.
    """
    return Fabric(tuple(_levels(network, devices, protocol, "link")))


def slowed(fabric: Fabric, slow: Iterable[Slow]) -> Fabric:
    """The fabric with stragglers. Raises `NetworkError` for a device that it does not have, and
    for two that no link of their own joins."""
    links: dict[tuple[int, str], float] = {}
    memory: dict[int, float] = {}
    for item in slow:
        for device in item.devices:
            if device >= fabric.devices:
                raise NetworkError(
                    f"slow link {item}: no device {device}, they are 0 to {fabric.devices - 1}"
                )
        if len(item.devices) == 1:
            (device,) = item.devices
            memory[device] = item.factor
            found = _around(fabric, device)
        else:
            found = _between(fabric, item)
        links.update((link, min(item.factor, links.get(link, 1.0))) for link in found)
    return msgspec.structs.replace(fabric, slow=links, slow_memory=memory)


def _between(fabric: Fabric, slow: Slow) -> list[tuple[int, str]]:
    """The link of two neighbours, one way and the other."""
    one, other = slow.devices
    ways = [way for way in (fabric.path(one, other), fabric.path(other, one)) if len(way) == 1]
    if not ways:
        raise NetworkError(
            f"slow link {slow}: no link joins devices {one} and {other} alone; "
            f"name neighbours, or one device as {one}:{slow.factor:g}"
        )
    return [(link.owner, link.port) for (link,) in ways]


def _around(fabric: Fabric, device: int) -> list[tuple[int, str]]:
    """Every link from or to a device: those of its messages to all others, at its end."""
    others = [other for other in range(fabric.devices) if other != device]
    ends = [fabric.path(device, other)[0] for other in others]
    ends += [fabric.path(other, device)[-1] for other in others]
    return [(link.owner, link.port) for link in ends]


def grid(devices: int, dimensions: int) -> tuple[int, ...]:
    """The most square shape of `devices` in so many dimensions, smallest first: 8 is 2 x 4."""
    shape = []
    for left in range(dimensions, 1, -1):
        side = max(n for n in range(1, round(devices ** (1 / left)) + 1) if devices % n == 0)
        shape.append(side)
        devices //= side
    return (*shape, devices)


def _levels(
    network: Network, devices: int, protocol: Protocol | None, name: str
) -> Iterator[Level]:
    inner = min(devices, network.devices or devices)
    groups, rest = divmod(devices, inner)
    if rest:
        raise NetworkError(
            f"{devices} devices are not whole groups of network.devices = {inner}; "
            f"give a multiple of {inner}"
        )
    shape = _shape(network, inner)
    for axis, extent in enumerate(shape):
        label = f"{name}{'xyz'[axis]}" if len(shape) > 1 else name
        if extent > 1:
            yield _level(network, extent, len(shape), protocol, label)
    if groups == 1:
        return
    if network.outer is None:
        raise NetworkError(
            f"{devices} devices, but the network joins {inner}; describe the rest in network.outer"
        )
    yield from _levels(
        network.outer, groups, _counterpart(network.outer, protocol), f"{name}.outer"
    )


def _shape(network: Network, devices: int) -> tuple[int, ...]:
    """The network's own shape where it holds all devices of it, else the most square one."""
    if prod(network.shape) == devices and network.shape:
        return network.shape
    return grid(devices, DIMENSIONS.get(network.topology, 1))


def _level(
    network: Network, extent: int, dimensions: int, protocol: Protocol | None, name: str
) -> Level:
    kind = _kind(network, extent)
    if kind == "full" and network.topology == "full" and extent - 1 > network.links:
        raise NetworkError(
            f"{extent} devices need {extent - 1} links each to be fully connected, the target has "
            f"{network.links}; set network.devices = {network.links + 1} and network.outer"
        )
    rate = network.bytes_per_s * _share(network, kind, dimensions)
    latency, message = network.latency_ns, network.message_ns
    if protocol is not None:
        rate = min(rate * protocol.payload, protocol.bytes_per_s or rate)
        latency, message = protocol.latency_ns, protocol.message_ns
    return Level(
        name, kind, extent, rate, picoseconds(latency), picoseconds(message), network.in_flight or 0
    )


def _kind(network: Network, extent: int) -> Kind:
    """An axis that is not closed is a line; of two devices, simply one link each way."""
    if network.topology in DIMENSIONS or network.topology == "ring":
        if extent >= network.wrap_from and extent > 2:
            return "ring"
        return "line" if extent > 2 else "full"
    kinds: dict[str, Kind] = {"ring_one_way": "ring_one_way", "switch": "switch", "full": "full"}
    return kinds[network.topology]


def _share(network: Network, kind: Kind, dimensions: int) -> float:
    """How many of a device's links carry one direction of one level."""
    if kind in ("switch", "ring_one_way"):
        return network.links
    if network.topology == "full":
        return 1
    return max(1, network.links // (2 * dimensions))


def _counterpart(network: Network, protocol: Protocol | None) -> Protocol | None:
    """The outer network's protocol of the same name."""
    named = [own for own in network.protocols if protocol and own.name == protocol.name]
    return named[0] if named else None


def _egress(level: Level) -> float:
    ports = {"ring": 2, "line": 2, "full": level.extent - 1}.get(level.kind, 1)
    return ports * level.bytes_per_s


def _route(level: Level, at: int, to: int) -> Iterator[tuple[int, str]]:
    """(coordinate of the owner, port) of every link from `at` to `to`."""
    if at == to:
        return
    extent = level.extent
    if level.kind == "switch":
        yield at, "out"
        yield to, "in"
    elif level.kind == "full":
        yield at, f"by{(to - at) % extent}"
    else:
        ahead = (to - at) % extent
        backwards = level.kind == "ring" and ahead > extent - ahead
        if level.kind == "line":
            backwards = to < at
        step, hops = (-1, (at - to) % extent) if backwards else (1, ahead)
        for hop in range(hops):
            yield (at + hop * step) % extent, "-" if backwards else "+"
