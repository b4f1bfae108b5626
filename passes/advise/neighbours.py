"""Which dispatches are launched next to one, and which of them share its data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from xpu_shark.passes.advise.sequence import Sequence as Steps
from xpu_shark.simulator.result import Dispatch
from xpu_shark.simulator.touches import value
from xpu_shark.simulator.workload import Launch


@dataclass(frozen=True)
class Neighbours:
    """Names of dispatches next to all launches of one: `readers` are all that read its result,
    where nobody else sees it, `most` of them that of one launch; `closest` those it could be one
    launch with, one for each place that differs: the first that reads a result, else the last that
    makes an operand, else the one that is launched next. Where a launch has only others of the
    same dispatch next to it, `chain` is how many of these follow each other, on average."""

    readers: tuple[str, ...] = ()
    most: int = 1
    closest: tuple[str, ...] = ()
    chain: float = 1.0


ALONE = Neighbours()


def neighbours(steps: Steps, dispatch: Dispatch, idle: Iterable[Dispatch] = ()) -> Neighbours:
    """Those of `dispatch`; `idle` are the dispatches of the function without any work."""
    empty = {(each.name, place) for each in idle for place in each.locations}
    launches = [
        number
        for number, step in enumerate(steps.steps)
        if isinstance(step.command, Launch)
        and (step.command.kernel, step.command.location) not in empty
    ]
    sites = [number for number in launches if _launches(steps, number, dispatch)]
    if not sites:
        return ALONE
    uses = [steps.uses(site) for site in sites]
    reading = [[n for n in use.readers if n in launches] for use in uses]
    readers: dict[str, None] = {}
    if all(reading) and not any(use.others for use in uses):
        readers = dict.fromkeys(_name(steps, number) for each in reading for number in each)
    mates = [_mate(steps, launches, site, dispatch.name) for site in sites]
    in_a_row = 1.0 if all(mates) else _in_a_row(steps, launches, sites)
    return Neighbours(
        tuple(readers),
        max(map(len, reading)) if readers else 1,
        tuple(dict.fromkeys(mates)) if all(mates) else (),
        in_a_row,
    )


def listed(names: Sequence[str]) -> str:
    """Names in words, all of them: they are what somebody looks up."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _name(steps: Steps, number: int) -> str:
    command = steps.steps[number].command
    assert isinstance(command, Launch)
    return command.kernel


def _launches(steps: Steps, number: int, dispatch: Dispatch) -> bool:
    """Whether a step is a launch of the dispatch, by name, place and sizes."""
    command = steps.steps[number].command
    assert isinstance(command, Launch)
    here = not command.location or command.location in dispatch.locations
    return (
        command.kernel == dispatch.name
        and (here or not dispatch.locations)
        and all(
            known is None or value(size, steps.env) == known
            for size, known in zip(command.constants, dispatch.constants, strict=False)
        )
    )


def _mate(steps: Steps, launches: Sequence[int], site: int, name: str) -> str:
    """The launch of another dispatch that the one at `site` could be one with; empty for none."""
    others = [n for n in launches if _name(steps, n) != name]
    after = [n for n in others if n > site]
    before = [n for n in reversed(others) if n < site]
    reading = set(steps.uses(site).readers)
    reads = (n for n in after if n in reading)
    made = (n for n in before if steps.passes(n, site))
    for other in chain(reads, made, after[:1], before[:1]):
        if steps.joinable(min(site, other), max(site, other)):
            return _name(steps, other)
    return ""


def _in_a_row(steps: Steps, launches: Sequence[int], sites: Sequence[int]) -> float:
    """How many of the launches at `sites` follow each other, with no other launch between, on
    average."""
    follow = sum(
        launches.index(other) == launches.index(site) + 1 and steps.joinable(site, other)
        for site, other in pairwise(sites)
    )
    return len(sites) / (len(sites) - follow)
