"""Collectives one axis after another: the common form of ring, halving, direct and torus.

On a grid of devices a reduce-scatter goes axis by axis, every time on the part that the axes before
left; an all-gather goes back the same way; an all-reduce is both. Along one axis of f devices there
are two patterns, each sending f - 1 messages: "ring" passes parts on from neighbour to neighbour,
"direct" sends each part to where it belongs. With all axes 2 long that is recursive halving and
doubling (Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
MPICH", 2005).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from xpu_shark.simulator.collectives.schedule import Alike, Phase, Place

Pattern = Literal["ring", "direct"]
RING: Pattern = "ring"
DIRECT: Pattern = "direct"
KINDS = ("all_reduce", "reduce_scatter", "all_gather")
EXCHANGE = "all_to_all"


def lane(
    kind: str, dims: Sequence[int], axes: Sequence[int], patterns: Sequence[Pattern], sign: int = 1
) -> Alike:
    """`axes` in the order in which they are scattered over; `patterns[a]` is axis a's; a ring goes
    in the direction `sign`. All-to-all is always direct along each axis."""
    blocks = tuple(dims) * 2 if kind == EXCHANGE else tuple(dims)
    used = [axis for axis in axes if dims[axis] > 1]
    phases: list[Phase] = []
    if kind == EXCHANGE:
        phases.extend(_exchange(dims, used))
    if kind in ("all_reduce", "reduce_scatter"):
        phases.extend(_scatter(dims, used, patterns, sign))
    if kind in ("all_reduce", "all_gather"):
        phases.extend(_gather(dims, used, patterns, sign))
    return Alike(tuple(dims), blocks, tuple(phases))


def _scatter(
    dims: Sequence[int], axes: Sequence[int], patterns: Sequence[Pattern], sign: int
) -> Iterator[Phase]:
    """On a ring the part of device x leaves its neighbour x + sign first and arrives last."""
    for done, axis in enumerate(axes):
        ring = patterns[axis] == "ring"
        now = Place(axis, -sign, -sign) if ring else Place(axis, 1, 1)
        places = _places(len(dims), axes[:done], axis, now)
        yield _phase(dims[axis], axis, sign, places, ring=ring, reduce=True)


def _gather(
    dims: Sequence[int], axes: Sequence[int], patterns: Sequence[Pattern], sign: int
) -> Iterator[Phase]:
    for left in reversed(range(len(axes))):
        axis = axes[left]
        ring = patterns[axis] == "ring"
        now = Place(axis, 0, -sign if ring else 0)
        places = _places(len(dims), axes[:left], axis, now)
        yield _phase(dims[axis], axis, sign, places, ring=ring, reduce=False)


def _exchange(dims: Sequence[int], axes: Sequence[int]) -> Iterator[Phase]:
    """Blocks are (whose, for whom). After an axis a device has what is for its own place on it,
    from everyone along it."""
    for done, axis in enumerate(axes):
        whose = tuple(None if a in axes[:done] else Place(a) for a in range(len(dims)))
        places = _places(len(dims), axes[:done], axis, Place(axis, 1, 1))
        yield _phase(dims[axis], axis, 1, whose + places, ring=False, reduce=False)


def _places(count: int, fixed: Sequence[int], axis: int, now: Place) -> tuple[Place | None, ...]:
    """Own coordinate on `fixed` axes, `now` on `axis`, every coordinate on the others."""
    return tuple(now if a == axis else Place(a) if a in fixed else None for a in range(count))


def _phase(
    extent: int,
    axis: int,
    sign: int,
    places: tuple[Place | None, ...],
    *,
    ring: bool,
    reduce: bool,
) -> Phase:
    if ring:
        return Phase(extent - 1, axis, sign, 0, places, reduce, True)
    return Phase(extent - 1, axis, 1, 1, places, reduce, False)
