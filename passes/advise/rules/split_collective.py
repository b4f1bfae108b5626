"""split_collective: a giant collective whose input is ready part by part.

What it checks: an all-reduce of what several launches wrote side by side, limited by its bytes.
It simulates one for what each of them wrote, started as soon as that is there, everything else
asynchronous on both sides too.
Why it matters: the last part holds back all of it, and the links idle until then.
Example: all gradients of a model in one bucket, reduced behind the whole backward pass.
What to do: one collective a bucket of a few layers, in the order in which they are computed.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.network_case import Change, NetworkCase
from xpu_shark.passes.advise.plan import Part

NAME = "split_collective"
CATEGORY = "xpu-shark.collective"
MOST_LATENCY = 0.8  # of its time: what is mostly latency is not worth paying it more often


def propose(case: NetworkCase) -> Iterator[Change]:
    """Every large all-reduce with several producers."""
    for number, item in case.collectives.items():
        if item.kind != "all_reduce" or case.latency_share(number) > MOST_LATENCY:
            continue
        parts = _parts(case, number)
        if len(parts) < 2:
            continue
        works = [
            (step, case.simulator.command(msgspec.structs.replace(item, bytes=size)))
            for step, size in parts.items()
        ]
        plan: list[Part] = []
        place: dict[int, tuple[int, ...]] = {}
        for step, part in enumerate(case.as_needed):
            needs = tuple(sorted({n for need in part.needs for n in place[need]}))
            if step != number:
                place[step] = (len(plan),)
                plan.append(Part(part.work, needs))
                continue
            start = len(plan)
            plan += [Part(work, place[maker]) for maker, work in works if work is not None]
            place[step] = tuple(range(start, len(plan)))
        yield Change(
            what=f"all_reduce of {item.bytes} B {item.element} over {case.group(number)} devices",
            condition=f"one for what {len(parts)} launches wrote",
            suggestion=f"{len(parts)} of them, each started when its part is there",
            confidence="high",
            steps=(number,),
            before=case.as_needed,
            after=tuple(plan),
        )


def _parts(case: NetworkCase, number: int) -> dict[int, int]:
    """Bytes of the collective's input by the step that wrote them; nothing where these are not
    known, or not all of it."""
    inputs = [touch for touch in case.steps[number].touches or () if not touch.written]
    if len(inputs) != 1 or inputs[0].end is None:
        return {}
    whole, found = inputs[0], {}
    for step in case.steps[number].needs:
        size = 0
        for touch in case.steps[step].touches or ():
            if touch.written and touch.exact and touch.end is not None and touch.overlaps(whole):
                size += min(touch.end, inputs[0].end) - max(touch.start, whole.start)
        if size:
            found[step] = size
    return found if sum(found.values()) == case.payload(number) else {}
