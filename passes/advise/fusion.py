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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xpu_shark.simulator.result import Dispatch, Report
from xpu_shark.simulator.workload import Kernel, Workload

NAME = "fusion"
CATEGORY = "xpu-shark.fusion"
# Flags tried, mildest first. A group that a milder flag forms is not reported again.
FLAGS = (
    ("--iree-opt-level=O2",),
    ("--iree-opt-level=O3",),
    ("--iree-dispatch-creation-enable-aggressive-fusion",),
)


@dataclass(frozen=True)
class Group:
    """Dispatches of one function that became fewer: `before` and `after` do the same work."""

    function: str
    before: tuple[Dispatch, ...]
    after: tuple[Dispatch, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dispatch.name for dispatch in self.before)


def groups(base: tuple[Report, Workload], other: tuple[Report, Workload]) -> Iterator[Group]:
    """Groups that `other` runs in fewer dispatches than `base`, function by function.

    Two dispatches belong together where they hold ops from the same place of the source.
    """
    for function in base[0].functions:
        before = _places(*base, function.name)
        after = _places(*other, function.name)
        for old, new in _components(before, after):
            if sum(d.sites for d in new) < sum(d.sites for d in old):
                yield Group(function.name, tuple(old), tuple(new))


Places = list[tuple[Dispatch, frozenset[str]]]


def _places(report: Report, workload: Workload, function: str) -> Places:
    kernels: Mapping[str, Kernel] = {kernel.name: kernel for kernel in workload.kernels}
    return [
        (item, frozenset(n.location for n in kernels[item.name].nests if n.location))
        for item in report.dispatches
        if item.function == function and item.name in kernels
    ]


def _components(before: Places, after: Places) -> Iterator[tuple[list[Dispatch], list[Dispatch]]]:
    """Connected components of "shares a source place", in order of the dispatches before."""
    left = list(after)
    waiting = list(before)
    while waiting:
        old, places = [waiting[0][0]], set(waiting.pop(0)[1])
        new: list[Dispatch] = []
        grown = True
        while grown:
            grown = False
            for pool, side in ((left, new), (waiting, old)):
                for entry in [entry for entry in pool if entry[1] & places]:
                    pool.remove(entry)
                    side.append(entry[0])
                    places |= entry[1]
                    grown = True
        yield old, new
