"""combine_collectives: many small collectives that could be one.

What it checks: three or more collectives of one kind, reduction and type over the same devices,
none of which waits for another, whose time is nearly all latency. It simulates one of all their
bytes, with a copy before it that puts them side by side and one behind it that takes them apart.
Why it matters: a small collective takes the links' latency whatever its size, and each pays again.
Example: an all-reduce for every parameter of a model, a few hundred bytes each.
What to do: reduce one concatenated buffer, or let the framework do it (a combiner pass, gradient
buckets, ncclGroupStart).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.network_case import Change, NetworkCase
from xpu_shark.passes.advise.plan import serial
from xpu_shark.simulator.workload import Move

NAME = "combine_collectives"
CATEGORY = "xpu-shark.collective"
LATENCY_SHARE = 0.9  # of its time at least: it is small
LEAST = 3  # two that are kept apart may well be so on purpose: one is used before the other


def propose(case: NetworkCase) -> Iterator[Change]:
    """Every set of alike and independent ones."""
    alike: dict[object, list[list[int]]] = {}
    for number, item in case.collectives.items():
        if case.latency_share(number) < LATENCY_SHARE or item.pairs:
            continue
        key = (item.kind, item.reduction, item.element, item.group, item.groups)
        sets = alike.setdefault(key, [])
        free = [each for each in sets if not any(case.before[number] >> n & 1 for n in each)]
        if free:
            free[0].append(number)
        else:
            sets.append([number])
    for sets in alike.values():
        yield from (_one(case, each) for each in sets if len(each) >= LEAST)


def _one(case: NetworkCase, steps: list[int]) -> Change:
    sizes = [case.payload(number) for number in steps]
    first, total = case.collectives[steps[0]], sum(sizes)
    one = case.simulator.command(msgspec.structs.replace(first, bytes=total))
    copy = case.simulator.command(Move(kind="copy", bytes=total))
    assert one is not None
    assert copy is not None
    size = f"{sizes[0]} B" if len({*sizes}) == 1 else f"{min(sizes)} to {max(sizes)} B"
    return Change(
        what=f"{len(steps)} times {first.kind} of {size} {first.element}",
        condition=f"{len(steps)} that do not depend on each other, nearly all latency",
        suggestion=f"one {first.kind} of {total} B, their bytes side by side",
        confidence="high",
        steps=tuple(steps),
        before=serial(case.works[number] for number in steps),
        after=serial((copy, one, copy)),
    )
