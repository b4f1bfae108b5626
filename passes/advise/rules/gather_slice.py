"""gather_slice: devices gather a whole tensor and use a part of it.

What it checks: whether everything that reads the result of an all-gather together reads half of
it or less. It simulates the gather of that much; where it is no more than one device's part, a
device receives just that part from another one.
Why it matters: each device receives all parts, keeps one, and waits for the others all the same.
Example: an all-gather whose result is only sliced at the device's own rank.
What to do: slice before the gather. Where the slice is the device's own part, which only the
program's author knows for sure, no communication is needed at all, and the gain is larger.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.network_case import Change, NetworkCase
from xpu_shark.passes.advise.plan import serial
from xpu_shark.simulator.workload import Collective

NAME = "gather_slice"
CATEGORY = "xpu-shark.collective"
MOST_USED = 0.5  # of the result: if more is used, slicing first hardly gains


def propose(case: NetworkCase) -> Iterator[Change]:
    """Every all-gather of which most is unused."""
    for number, item in case.collectives.items():
        if item.kind != "all_gather":
            continue
        readers, whole = case.readers(number), case.payload(number)
        used = sum(reader.bytes for reader in readers or ())
        if not readers or used > MOST_USED * whole:
            continue
        less = case.simulator.command(_smaller(item, used, whole, case.group(number)))
        if less is None:
            continue
        where = next(case.steps[reader.step].label for reader in readers)
        own = used * case.group(number) <= whole
        instead = "the part that is used: no collective if it is the device's own, else a send_recv"
        yield Change(
            what=f"all_gather of {whole} B {item.element} over {case.group(number)} devices",
            condition=f"a gather of which {where} uses {used} B, {used / whole:.0%}".replace(
                "%", " %"
            ),
            suggestion=f"{instead} of {used} B" if own else f"a slice first, a gather of {used} B",
            confidence="high",
            steps=(number,),
            before=serial((case.works[number],)),
            after=serial((less,)),
        )


def _smaller(item: Collective, used: int, whole: int, group: int) -> Collective:
    if used * group <= whole:
        return msgspec.structs.replace(item, kind="send_recv", bytes=used)
    return msgspec.structs.replace(item, bytes=used)
