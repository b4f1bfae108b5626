"""late_collective: a collective that starts long after its input is ready.

What it checks: whether launches that do not depend on a collective stand between the command that
completes its input and the collective itself. It simulates the same order with this one collective
started as soon as its input is there, and awaited before the first command that reads its result.
Why it matters: the links idle meanwhile, and the device idles later while it waits for them.
Example: a loss that is averaged over the devices behind the backward pass that does not need it.
What to do: start it where the remark says, and wait where its result is first read (all-reduce
start and done, a communication stream and an event).
"""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.passes.advise.network_case import Change, NetworkCase
from xpu_shark.passes.advise.plan import Part, Plan

NAME = "late_collective"
CATEGORY = "xpu-shark.collective"
MOST = 8  # of a piece of the program that are looked at: each is simulated with all that is around


def propose(case: NetworkCase) -> Iterator[Change]:
    """Those that could start before a launch that stands before them, the longest ones first."""
    late = [number for number in case.collectives if passed(case, number)]
    late.sort(key=lambda number: -case.steps[number].time_ps)
    for number in late[:MOST]:
        item = case.collectives[number]
        needs = case.steps[number].needs
        ready = max(needs, default=-1)
        after = case.place(ready) if needs else "the start"
        first = next((case.place(place) for place in case.after[number]), "the end")
        behind = case.place(passed(case, number)[-1])
        yield Change(
            what=f"{item.kind} of {item.bytes} B {item.element} over {case.group(number)} devices",
            condition=f"a start behind {behind}, which it does not need",
            suggestion=f"start it after {after}, wait for it before {first}",
            confidence="high",
            steps=(number,),
            before=case.in_order,
            after=early(case, number),
        )


def passed(case: NetworkCase, number: int) -> list[int]:
    """Launches between what completes a collective's input and the collective."""
    ready = max(case.steps[number].needs, default=-1)
    return [
        place
        for place in range(ready + 1, number)
        if not case.steps[place].network and case.steps[place].time_ps
        if case.steps[place].group != case.steps[number].group
    ]


def early(case: NetworkCase, number: int) -> Plan:
    """The program's order, but for one collective for which only those wait that need it."""
    before = case.in_order[number].needs
    parts: list[Part] = []
    for place, part in enumerate(case.in_order):
        needs = set(part.needs)
        if number in needs:
            needs = (needs - {number}) | set(before)
        if number in case.steps[place].needs:
            needs.add(number)
        if place == number:
            needs = set(case.steps[number].needs)
        parts.append(Part(part.work, tuple(sorted(needs))))
    return tuple(parts)
