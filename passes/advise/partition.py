"""How two ways to form dispatches differ: which of them came together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xpu_shark.passes.advise.sites import REDUCES, Site


@dataclass(frozen=True)
class Merged:
    """Sites that became fewer, by number: `before` and `after` do the same work. `edges` are
    those (producer, consumer) of before whose tensor no longer passes between dispatches."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]


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
    sites on either side: it counts only where a site has no other. One that reduces is copied
    nowhere: it counts always. What stands at one place as often as before, in a function that is
    called several times, is in the same order."""
    old, new = _at(before), _at(after)
    result: list[set[int]] = []
    for number, site in enumerate(before):
        own, shared = set[int](), set[int]()
        for place in site.places:
            key = (site.function, place)
            there = new.get(key, [])
            same = len(old[key]) == len(there)
            homes = {there[old[key].index(number)]} if same else set(there)
            if place.endswith(REDUCES) or (same and len(there) == 1):
                own |= homes
            shared |= homes
        result.append(_reading_alike(site, own or shared, after, result))
    for number in reversed(range(len(before))):
        if not result[number]:
            result[number] = _vanished(number, before, after, result)
    return result


def _spare(
    before: Sequence[Site], after: Sequence[Site], homes: list[set[int]]
) -> Iterator[tuple[int, int]]:
    """For each site after, how many of its results nothing before that is there accounts for."""
    for number, site in enumerate(after):
        known = (b.results for b, home in zip(before, homes, strict=True) if home == {number})
        yield number, site.results - sum(known)


def _reading_alike(
    site: Site, found: set[int], after: Sequence[Site], homes: list[set[int]]
) -> set[int]:
    """Of the homes found those that read what became of everything that the site reads, where that
    tells them apart: a place that several calls share does not."""
    sources = [homes[source] for source in site.sources if source < len(homes)]
    alike = {n for n in found if all(each & {n, *after[n].sources} for each in sources)}
    return alike or found


def _at(sites: Sequence[Site]) -> dict[tuple[str, str], list[int]]:
    """Which sites of a function compute something from a place, in program order."""
    found: dict[tuple[str, str], list[int]] = {}
    for number, site in enumerate(sites):
        for place in site.places:
            found.setdefault((site.function, place), []).append(number)
    return found


def _vanished(
    number: int, before: Sequence[Site], after: Sequence[Site], homes: list[set[int]]
) -> set[int]:
    """Where a site is whose place is nowhere after. Where its readers' homes read something that
    reads what it read, it is that: IREE gives joined products the place of one of them. Else it
    went to where its result is read, as a transpose does that has become an indexing map. With
    no reader it is the only site that has results to spare."""
    sources = [homes[source] for source in before[number].sources]
    found: set[int] = set()
    readers = [n for n, site in enumerate(before) if number in site.sources]
    if not readers:
        found = {n for n, left in _spare(before, after, homes) if left >= before[number].results}
        found &= {n for n, site in enumerate(after) if site.function == before[number].function}
        found = {n for n in found if all(each & set(after[n].sources) for each in sources)}
        return found if len(found) == 1 else set()
    for reader in readers:
        site = before[reader]
        made = {source for home in homes[reader] for source in after[home].sources}
        instead = {n for n in made if all(each & set(after[n].sources) for each in sources)}
        if not sources:
            others = (homes[source] for source in site.sources if source != number)
            instead -= set().union(*others)
        found |= instead or homes[reader]
    return found


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
