"""reduce_slice: devices all-reduce a whole tensor and each uses a part of it.

What it checks: whether everything that reads the result of an all-reduce together reads no more
than one device's share, its bytes over the devices. It simulates a reduce-scatter in its place.
Why it matters: an all-reduce is a reduce-scatter and an all-gather, and the second half is unused.
Example: gradients that are all-reduced, of which each device updates its shard of the weights.
What to do: reduce-scatter the tensor; where others need the updated whole, all-gather it after.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.network_case import Change, NetworkCase
from xpu_shark.passes.advise.plan import serial

NAME = "reduce_slice"
CATEGORY = "xpu-shark.collective"


def propose(case: NetworkCase) -> Iterator[Change]:
    """Every all-reduce of which a device uses its share at most."""
    for number, item in case.collectives.items():
        if item.kind != "all_reduce":
            continue
        readers, whole, group = case.readers(number), case.payload(number), case.group(number)
        used = sum(reader.bytes for reader in readers or ())
        if not readers or used * group > whole:
            continue
        less = case.simulator.command(msgspec.structs.replace(item, kind="reduce_scatter"))
        if less is None:
            continue
        where = next(case.steps[reader.step].label for reader in readers)
        yield Change(
            what=f"all_reduce of {whole} B {item.element} over {group} devices",
            condition=f"an all_reduce of which {where} uses {used} B on each device",
            suggestion=f"reduce_scatter of {whole} B",
            confidence="medium",
            steps=(number,),
            before=serial((case.works[number],)),
            after=serial((less,)),
        )
