"""Which ops of the source each dispatch holds, and how two ways to form dispatches differ.

Read at flow, where the body of a dispatch still has an op for each op of the source: what IREE
fuses into one loop nest keeps its operations' own locations inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
from iree.compiler import ir

from xpu_shark.passes.bridge.host_program import walk
from xpu_shark.passes.bridge.locations import source_sites
from xpu_shark.passes.bridge.read_graph import read_graph

# Ops that every dispatch may have a copy of, or that only hold others.
_EVERYWHERE = ("arith.constant", "linalg.fill", "linalg.yield", "tensor.empty", "func.func")
_PLUMBING = ("func.", "iree_tensor_ext.", "flow.")


class Site(msgspec.Struct, frozen=True):
    """One dispatch of a function. `places` are where the ops that it computes come from;
    `sources` the sites, by number, whose results it reads."""

    function: str
    name: str
    places: tuple[str, ...]
    sources: tuple[int, ...]


@dataclass(frozen=True)
class Merged:
    """Sites that became fewer, by number: `before` and `after` do the same work. `edges` are
    those (producer, consumer) of before whose tensor no longer passes between dispatches."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]


def read_sites(module: ir.Operation) -> tuple[Site, ...]:
    """The sites of `module`, a builtin.module at flow, collectives included, in program order.

    An executable that several sites share has the places of its first site only; the others are
    known by the place of the dispatch itself.
    """
    inside = dict(_bodies(module))
    sites = []
    for site in read_graph(module).sites:
        places = dict.fromkeys([*filter(None, (site.location,)), *inside.pop(site.name, ())])
        sources = dict.fromkeys(o.source for o in site.operands if isinstance(o.source, int))
        sites.append(Site(site.function, site.name, tuple(places), tuple(sources)))
    return tuple(sites)


def _bodies(module: ir.Operation) -> Iterator[tuple[str, tuple[str, ...]]]:
    for executable in module.regions[0].blocks[0].operations:
        if executable.operation.name != "flow.executable":
            continue
        for op in walk(executable.operation):
            if op.name == "func.func":
                found = (
                    place
                    for inner in walk(op)
                    if inner.name not in _EVERYWHERE and not inner.name.startswith(_PLUMBING)
                    for place in source_sites(inner.location)
                )
                yield ir.StringAttr(op.attributes["sym_name"]).value, tuple(dict.fromkeys(found))


def merged(before: Sequence[Site], after: Sequence[Site]) -> Iterator[Merged]:
    """Groups of sites that `after` has fewer of, in order of their first site before."""
    homes = _homes(before, after)
    left = set(range(len(before)))
    while left:
        old, new = {min(left)}, set(homes[min(left)])
        while grown := {n for n in left - old if homes[n] & new}:
            old |= grown
            new = new.union(*(homes[n] for n in grown))
        left -= old
        if len(new) < len(old):
            yield Merged(
                tuple(sorted(old)), tuple(sorted(new)), _edges((before, after), homes, old)
            )


def _homes(before: Sequence[Site], after: Sequence[Site]) -> list[set[int]]:
    """For each site before, the sites after that hold its ops. A cheap op may be in several
    sites on either side: it counts only where a site has no other. What has become an indexing
    map (a transpose) went to where its result is read."""
    known: dict[tuple[str, str], set[int]] = {}
    for number, site in enumerate(after):
        for place in site.places:
            known.setdefault((site.function, place), set()).add(number)
    copies = Counter((site.function, place) for site in before for place in site.places)
    result = []
    for site in before:
        keys = [(site.function, place) for place in site.places]
        own = [key for key in keys if copies[key] == 1 and len(known.get(key, ())) == 1]
        result.append(set().union(*(known.get(key, set()) for key in own or keys)))
    for number in reversed(range(len(before))):
        if not result[number]:
            readers = (
                homes for site, homes in zip(before, result, strict=True) if number in site.sources
            )
            result[number] = set().union(*readers)
    return result


def _edges(
    sides: tuple[Sequence[Site], Sequence[Site]], homes: list[set[int]], group: set[int]
) -> tuple[tuple[int, int], ...]:
    before, after = sides
    return tuple(
        (source, number)
        for number in sorted(group)
        for source in before[number].sources
        if source in group and homes[source] & homes[number]
        if not any(homes[source] & set(after[home].sources) for home in homes[number])
    )
