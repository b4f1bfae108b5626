"""overlap_collectives: collectives that could pass behind launches which do not need them.

What it checks: it simulates the same commands with every collective asynchronous: each command
starts as soon as what it needs is there, the device and the network beside each other, and both
share the main memory.
Why it matters: in a serial order the device idles for as long as the links work, and the links
while the device does. What stays exposed is what no independent launch is there to hide.
Example: the weights of the next layer are gathered while this layer is computed.
What to do: asynchronous collectives (start and done) and a scheduler that hides latency, such as
XLA's `--xla_tpu_enable_async_collective_fusion` or `--xla_gpu_enable_latency_hiding_scheduler`.
"""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.passes.advise.network_case import Change, NetworkCase
from xpu_shark.passes.advise.rules.late_collective import passed

NAME = "overlap_collectives"
CATEGORY = "xpu-shark.collective"


def propose(case: NetworkCase) -> Iterator[Change]:
    """All collectives of a piece of the program at once; not one alone that is only late."""
    steps = tuple(case.collectives)
    if not steps or (len(steps) == 1 and passed(case, steps[0])):
        return
    kinds = ", ".join(dict.fromkeys(item.kind for item in case.collectives.values()))
    yield Change(
        what=f"{len(steps)} collectives ({kinds})" if len(steps) > 1 else f"a single {kinds}",
        condition="one command after another",
        suggestion="asynchronous collectives, each started when its input is there",
        confidence="high",
        steps=steps,
        before=case.in_order,
        after=case.as_needed,
    )
