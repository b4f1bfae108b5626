"""fusion: another way to form dispatches that IREE has is faster.

What it checks: it compiles the program up to its kernels once more with a flag that makes IREE
fuse more, simulates that program too, and compares the dispatches that came together.
Why it matters: a tensor that passes between two dispatches is stored and loaded again, and each
dispatch pays for its launch. Where the operational intensity of all of them is past the ridge of
every memory level no saved byte is waited for, and no fusion is advised. Fusing may cost
parallelism or scratchpad: the simulation says so, and then there is no advice either.
Example: a normalisation in three dispatches, each of which reads the row again.
What to do: add the flag that the remark gives. Advice that IREE follows already does not appear:
the same flag then changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xpu_shark.passes.advise.partition import Site, merged
from xpu_shark.simulator.result import Dispatch, Report

NAME = "fusion"
CATEGORY = "xpu-shark.fusion"
# Flags tried, mildest first. A group that a milder flag forms is not reported again.
FLAGS = (
    ("--iree-opt-level=O2",),
    ("--iree-opt-level=O3",),
    ("--iree-dispatch-creation-enable-aggressive-fusion",),
)


@dataclass(frozen=True)
class Part:
    """`sites` of all places where one function launches `dispatch`."""

    dispatch: Dispatch
    sites: int

    def all_launches(self, time_ps: int) -> int:
        """Time of all launches from these sites, given that of one launch. Sites of one dispatch
        count alike."""
        return time_ps * self.dispatch.launches * self.sites // self.dispatch.sites


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
        return tuple(part.dispatch.name for part in self.before)

    @property
    def sites(self) -> tuple[int, int]:
        """Number of sites before and after."""
        before, after = (sum(part.sites for part in side) for side in (self.before, self.after))
        return before, after


def groups(
    base: tuple[Report, Sequence[Site]], other: tuple[Report, Sequence[Site]]
) -> Iterator[Group]:
    """Groups that `other` runs in fewer dispatches than `base`, in program order.

    A group with a dispatch that was not simulated is left out."""
    (report, before), (changed, after) = base, other
    for group in merged(before, after):
        function = before[group.before[0]].function
        old = _parts(report, function, [before[n].name for n in group.before])
        new = _parts(changed, function, [after[n].name for n in group.after])
        if old and new:
            names = tuple((before[a].name, before[b].name) for a, b in group.edges)
            yield Group(function, old, new, names)


def _parts(report: Report, function: str, names: Sequence[str]) -> tuple[Part, ...]:
    """Empty where one of the names is no simulated dispatch, or one with several sizes."""
    known: dict[str, list[Dispatch]] = {}
    for item in report.dispatches:
        if item.function == function and item.run is not None:
            known.setdefault(item.name, []).append(item)
    if any(len(known.get(name, ())) != 1 for name in names):
        return ()
    return tuple(Part(known[name][0], sites) for name, sites in Counter(names).items())


def time_ps(parts: Sequence[Part], one: Callable[[Dispatch], int]) -> int:
    """All launches of a group's side, given the time of one launch of a dispatch."""
    return sum(part.all_launches(one(part.dispatch)) for part in parts)


def describe(group: Group) -> str:
    """What is joined, by export names: "3 dispatches, a -> b, b -> c"."""
    joined = [f"{producer} -> {consumer}" for producer, consumer in dict.fromkeys(group.edges)]
    named = {name for edge in group.edges for name in edge}
    beside = [name for name in group.names if name not in named]
    return ", ".join((f"{group.sites[0]} dispatches", *joined, *beside))
