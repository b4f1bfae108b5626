"""Small fabrics with round numbers: 1 GB/s is 1000 ps a byte, one hop takes 100 ns."""

from __future__ import annotations

from xpu_shark.simulator.network import Fabric, Kind, Level

BYTE_PS = 1000
HOP_PS = 100_000


def level(kind: Kind, extent: int, name: str = "link", rate: float = 1e9) -> Level:
    return Level(name, kind, extent, rate, HOP_PS)


def flat(kind: Kind, devices: int) -> Fabric:
    """One level; a lone device has none."""
    return Fabric((level(kind, devices),) if devices > 1 else ())


def torus(*extents: int) -> Fabric:
    axes = zip("xyz", extents, strict=False)
    return Fabric(tuple(level("ring" if n > 2 else "full", n, name) for name, n in axes))


def mesh(*extents: int) -> Fabric:
    """A torus without its closing links."""
    axes = zip("xyz", extents, strict=False)
    return Fabric(tuple(level("line" if n > 2 else "full", n, name) for name, n in axes))


def groups(inner: int, outer: int) -> Fabric:
    """Groups behind a switch, joined by a switch of half the rate."""
    return Fabric((level("switch", inner, "in"), level("switch", outer, "out", 5e8)))
