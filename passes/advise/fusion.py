"""fusion: another way to form dispatches that IREE has is faster.

What it checks: it compiles the program up to its kernels once more with a flag that makes IREE
fuse more, simulates that program too, and compares the dispatches that came together: producers
with their readers, be it one or several, and products that share an operand.
Why it matters: a tensor that passes between two dispatches is stored and loaded again, one that
several read is loaded by each, and each dispatch pays for its launch. Where the operational
intensity of all of them is past the ridge of every memory level no saved byte is waited for, and no
fusion is advised. Fusing may cost parallelism or scratchpad: the simulation says so, and then
there is no advice either.
Example: a normalisation in three dispatches, each of which reads the row again; query, key and
value as three products of the same tokens.
What to do: add the flag that the remark gives. A flag holds for the whole program: the remark says
what all of the function gains by it, and nothing is said where that is less than 1 %. Advice that
IREE follows already does not appear: the same flag then changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from xpu_shark.passes.advise.partition import merged
from xpu_shark.passes.advise.sites import Site
from xpu_shark.simulator.result import Dispatch, Report

NAME = "fusion"
CATEGORY = "xpu-shark.fusion"
# Flags tried, mildest first. A group that a milder flag forms is not reported again.
FLAGS: tuple[tuple[str, ...], ...] = (
    ("--iree-opt-level=O2",),
    ("--iree-opt-level=O3",),
    ("--iree-dispatch-creation-enable-aggressive-fusion",),
    ("--iree-dispatch-creation-enable-fuse-horizontal-contractions",),
    ("--iree-dispatch-creation-fuse-multi-use",),  # IREE's default, unless the build turns it off
)


@dataclass(frozen=True)
class Part:
    """`sites` of all places where one function launches `dispatch`. They are no whole number where
    it is not known which of several dispatches of one name are launched there."""

    dispatch: Dispatch
    sites: Fraction

    def all_launches(self, time_ps: int) -> int:
        """Time of all launches from these sites, given that of one launch. Sites of one dispatch
        count alike."""
        return int(time_ps * self.dispatch.launches * self.sites / self.dispatch.sites)


@dataclass(frozen=True)
class Group:
    """Dispatches of one function that became fewer: `before` and `after` do the same work.

    `edges` are the names of those (producer, consumer) whose tensor no longer passes between
    dispatches; there are none where dispatches are joined that only read the same."""

    function: str
    before: tuple[Part, ...]
    after: tuple[Part, ...]
    edges: tuple[tuple[str, str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.dispatch.name for part in self.before))

    @property
    def sites(self) -> tuple[int, int]:
        """Number of sites before and after."""
        before, after = (sum(part.sites for part in side) for side in (self.before, self.after))
        return int(before), int(after)

    @cached_property
    def before_ps(self) -> int:
        """All launches, as they were simulated."""
        return time_ps(self.before, _simulated)

    @cached_property
    def after_ps(self) -> int:
        return time_ps(self.after, _simulated)

    @property
    def saved_ps(self) -> int:
        return self.before_ps - self.after_ps

    @property
    def speedup(self) -> float:
        return self.before_ps / max(self.after_ps, 1)


def groups(
    base: tuple[Report, Sequence[Site]], other: tuple[Report, Sequence[Site]]
) -> Iterator[Group]:
    """Groups that `other` runs in fewer dispatches than `base`, in program order; those of the
    same names, such as equal layers have, as one.

    A group with a dispatch that was not simulated is left out."""
    (report, before), (changed, after) = base, other
    alike: dict[tuple[str, ...], Group] = {}
    for group in merged(before, after):
        old = _parts(report, [before[n] for n in group.before])
        new = _parts(changed, [after[n] for n in group.after])
        if old and new:
            edges = tuple((before[a].name, before[b].name) for a, b in group.edges)
            found = Group(old[0].dispatch.function, old, new, edges)
            first = alike.get(found.names)
            alike[found.names] = found if first is None else both(first, found)
    yield from alike.values()


def both(first: Group, second: Group) -> Group:
    """Two groups of one function as one."""
    before, after = (
        _summed((*one, *two))
        for one, two in ((first.before, second.before), (first.after, second.after))
    )
    edges = tuple(dict.fromkeys((*first.edges, *second.edges)))
    return Group(first.function, before, after, edges)


def _summed(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts, one for each dispatch."""
    found: dict[int, Part] = {}
    for part in parts:
        known = found.get(id(part.dispatch), Part(part.dispatch, Fraction()))
        found[id(part.dispatch)] = Part(part.dispatch, known.sites + part.sites)
    return tuple(found.values())


def _parts(report: Report, sites: Sequence[Site]) -> tuple[Part, ...]:
    """Empty where one of the sites launches no simulated dispatch, or one of several sizes."""
    found: list[Part] = []
    for site in sites:
        known = _launched(report, site)
        if not known or len({each.constants for each in known}) > 1:
            return ()
        total = sum(each.sites for each in known)
        found += (Part(each, Fraction(each.sites, total)) for each in known)
    return _summed(found)


def _launched(report: Report, site: Site) -> list[Dispatch]:
    """The dispatches of the site's name in its function, or in the only one that calls that; where
    some are launched at the site's place only these: what is in the scratchpad tells launches of
    one kernel apart."""
    named = [item for item in report.dispatches if item.name == site.name and item.run]
    own = [item for item in named if item.function == site.function]
    if not own and len({item.function for item in named}) == 1:
        own = named
    here = [item for item in own if site.location in item.locations]
    return here or own


def time_ps(parts: Sequence[Part], one: Callable[[Dispatch], int]) -> int:
    """All launches of a group's side, given the time of one launch of a dispatch."""
    return sum(part.all_launches(one(part.dispatch)) for part in parts)


def _simulated(dispatch: Dispatch) -> int:
    return dispatch.run.time_ps if dispatch.run else 0


def describe(group: Group) -> str:
    """What is joined, by export names: "3 dispatches, a -> b, b -> c", "2 dispatches of a"."""
    count = f"{group.sites[0]} dispatches"
    if len(group.names) == 1:
        return f"{count} of {group.names[0]}"
    joined = [f"{producer} -> {consumer}" for producer, consumer in dict.fromkeys(group.edges)]
    named = {name for edge in group.edges for name in edge}
    beside = [name for name in group.names if name not in named]
    together = " + ".join(beside)
    if joined and beside:
        together = f"besides {together}"
    return ", ".join(filter(None, (count, *joined, together)))
