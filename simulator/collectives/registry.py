"""The table of algorithms: a name, the collectives it does, and how its schedule is built."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from xpu_shark.simulator.collectives import (
    binomial,
    chain,
    direct,
    double_tree,
    halving,
    hierarchical,
    mesh,
    one_shot,
    ring,
    torus,
)
from xpu_shark.simulator.collectives.axes import EXCHANGE, KINDS
from xpu_shark.simulator.collectives.schedule import Schedule
from xpu_shark.simulator.network import Fabric

ROOTED = ("broadcast", "reduce")


class Algorithm(msgspec.Struct, frozen=True):
    """`build` takes the kind and the fabric; None where the algorithm does not apply."""

    name: str
    kinds: tuple[str, ...]
    build: Callable[[str, Fabric], Schedule | None]


ALGORITHMS = (
    Algorithm("ring", KINDS, ring.one_way),
    Algorithm("ring both ways", KINDS, ring.both_ways),
    Algorithm("halving", (*KINDS, EXCHANGE), halving.schedule),
    Algorithm("direct", (*KINDS, EXCHANGE), direct.schedule),
    Algorithm("one-shot", ("all_reduce",), one_shot.schedule),
    Algorithm("torus per axis", KINDS, torus.per_axis),
    Algorithm("torus all axes", KINDS, torus.all_axes),
    Algorithm("mesh", KINDS, mesh.schedule),
    Algorithm("hierarchical", KINDS, hierarchical.schedule),
    Algorithm("binomial tree", (*ROOTED, "all_reduce"), binomial.schedule),
    Algorithm("double tree", (*ROOTED, "all_reduce"), double_tree.schedule),
    Algorithm("chain", ROOTED, chain.schedule),
    Algorithm("shift", (ring.PERMUTE,), ring.shift),
    Algorithm("point to point", ("send", "recv"), chain.point_to_point),
)


def known_kinds() -> tuple[str, ...]:
    """Every collective that some algorithm does, sorted."""
    return tuple(sorted({kind for algorithm in ALGORITHMS for kind in algorithm.kinds}))


def by_name(name: str) -> Algorithm:
    """Raises `KeyError` for an unknown name."""
    return {algorithm.name: algorithm for algorithm in ALGORITHMS}[name]
