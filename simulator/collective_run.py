"""One collective of the host program on the target's network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpu_shark.simulator.collectives.bound import bound_ps, busiest
from xpu_shark.simulator.collectives.candidates import Run, Team
from xpu_shark.simulator.collectives.choose import choose
from xpu_shark.simulator.collectives.groups import check
from xpu_shark.simulator.collectives.registry import known_kinds
from xpu_shark.simulator.commands import CommandRun
from xpu_shark.simulator.network import NetworkError
from xpu_shark.simulator.simulate import AccountingError
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.workload import Collective

if TYPE_CHECKING:
    from xpu_shark.simulator.evaluate import Settings


def simulate(item: Collective, size: int, settings: Settings) -> CommandRun:
    """One collective of `size` bytes; a reason instead of times where it can never complete."""
    who = team(item, settings)
    group, target = who.members, settings.target
    if item.problem:
        return CommandRun(group=group, reason=item.problem)
    if item.kind not in known_kinds():
        known = ", ".join(known_kinds())
        return CommandRun(group=group, reason=f"no algorithm for {item.kind} (known: {known})")
    if target.network is None:
        return CommandRun(group=group, reason=f"target {target.name} describes no network")
    if not item.group and group < 2:
        return CommandRun(group=group, reason="group size not known: give --xpu-devices=N")
    still = bool(item.pairs) and all(a == b for a, b in item.pairs)
    try:
        check(who.groups, who.devices)
        _check_pairs(item, who.members)
        if group == 1 or size == 0 or still:
            return CommandRun(time_ps=0, bound_ps=0, serial_ps=0, group=group, reason="no work")
        library = settings.mode != "best"
        done = choose(target, item.kind, size, who, item.pairs, library=library, fold=settings.fold)
        return _run(done, item.kind, size, target)
    except NetworkError as error:
        return CommandRun(group=group, reason=str(error))


def team(item: Collective, settings: Settings) -> Team:
    """Who takes part: where nobody says how many devices there are, those that are named."""
    lists = item.groups or item.pairs
    named = 1 + max((device for each in lists for device in each), default=0)
    devices = settings.devices if settings.devices > 1 else named
    return Team(devices if item.groups else item.group or devices, item.groups, settings.slow)


def _check_pairs(item: Collective, members: int) -> None:
    """Raises `NetworkError` where a pair names a rank that is not there."""
    for pair in item.pairs:
        if max(pair) >= members:
            last = max(map(max, item.pairs))
            raise NetworkError(
                f"rank {pair[0]} sends to rank {pair[1]}, but the ranks are 0 to {members - 1}: "
                f"give --xpu-devices={last + 1} or more"
            )


def _run(done: Run, kind: str, size: int, target: Target) -> CommandRun:
    """What the simulation says, after the laws that always hold."""
    used, timeline = done.candidate.fabric, done.timeline
    bound = bound_ps(used, kind, size, done.candidate.members)
    if timeline.time_ps < bound:
        raise AccountingError(f"{kind} of {size} bytes: faster than its bound")
    for use in timeline.resources:
        if use.busy_ps > timeline.time_ps:
            raise AccountingError(f"{kind} of {size} bytes: {use.name} busy longer than the run")
    device = busiest(timeline, used, target.memory[0].name)
    return CommandRun(
        time_ps=timeline.time_ps,
        bound_ps=bound,
        serial_ps=max(device.busy_ps, bound),
        bytes=device.bytes,
        group=done.candidate.members,
        algorithm=done.candidate.label,
    )
