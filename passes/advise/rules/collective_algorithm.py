"""collective_algorithm: another algorithm, protocol or number of chunks for a collective.

What it checks: it simulates every algorithm that fits the network, in every protocol and number
of chunks, beside what the chip's own library would take (`network.algorithms` of the target).
Why it matters: which algorithm is best depends on the bytes, the devices and the shape of the
network: a ring in one direction leaves half of a torus' links idle, a tree most of its bandwidth.
Example: an all-gather around one ring of a torus that both directions or all axes share faster.
What to do: select it in the library (an environment variable or a tuner plugin), or build the
collective of sends and receives as the remark names it.
"""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.passes.advise.network_case import Change, NetworkCase
from xpu_shark.passes.advise.plan import serial

NAME = "collective_algorithm"
CATEGORY = "xpu-shark.collective"


def propose(case: NetworkCase) -> Iterator[Change]:
    """Where the library is limited to some."""
    network = case.target.network
    for number, item in case.collectives.items():
        if network is None or item.kind not in network.algorithms:
            continue
        now, best = case.works[number], case.simulator.command(item, library=False)
        if best is None or best.algorithm == now.algorithm:
            continue
        yield Change(
            what=f"{item.kind} of {item.bytes} B {item.element} over {case.group(number)} devices",
            condition=now.algorithm,
            suggestion=best.algorithm,
            confidence="medium" if item.reduction else "high",
            steps=(number,),
            before=serial((now,)),
            after=serial((best,)),
        )
