"""wire_type: f32 on the links where bf16 would carry it.

What it checks: f32 collectives whose bytes at full rate are a quarter of their time at least. It
simulates the same collective in bf16, with a conversion before it and one behind.
Why it matters: half the bytes on a link take half the time, and halve its traffic in memory.
Example: gradients reduced in f32 where the optimizer keeps an f32 copy of the weights.
What to do: convert before the collective. Sums over devices then round to bf16 at every step:
check that training or the answer still converges.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.network_case import Change, NetworkCase
from xpu_shark.passes.advise.plan import Work, serial
from xpu_shark.simulator.bind import Context, bind
from xpu_shark.simulator.workload import Access, Dim, Index, Kernel, Nest, Tensor
from xpu_shark.simulator.workload import Work as Operation

NAME = "wire_type"
CATEGORY = "xpu-shark.collective"
MOST_LATENCY = 0.75  # of its time: with more, half the bytes save an eighth at most


def propose(case: NetworkCase) -> Iterator[Change]:
    """Every large one in f32."""
    for number, item in case.collectives.items():
        if item.element != "f32" or case.latency_share(number) > MOST_LATENCY:
            continue
        whole, group = case.payload(number), case.group(number)
        narrow = case.simulator.command(
            msgspec.structs.replace(item, element="bf16", bytes=whole // 2)
        )
        if narrow is None:
            continue
        given = whole // group if item.kind == "all_gather" else whole
        got = whole // group if item.kind == "reduce_scatter" else whole
        yield Change(
            what=f"{item.kind} of {whole} B f32 over {group} devices",
            condition="f32 on the wire",
            suggestion=f"bf16 on the wire, {whole // 2} B",
            confidence="low",
            steps=(number,),
            before=serial((case.works[number],)),
            after=serial((_convert(case, given, "bf16"), narrow, _convert(case, got, "f32"))),
        )


def _convert(case: NetworkCase, bytes: int, element: str) -> Work:
    """A launch that converts `bytes` of f32 to `element`, or as many elements back to f32."""
    count, other = bytes // 4, "bf16" if element == "f32" else "f32"
    here = (Index(terms=((0, 1),)),)
    nest = Nest(
        name="convert",
        dims=(Dim(extent=count, kind="parallel"),),
        reads=(Access(tensor=0, map=here),),
        writes=(Access(tensor=1, map=here),),
        work=(Operation(kind="convert", element=element),),
    )
    tensors = tuple(
        Tensor(shape=(count,), element=kind, storage="global") for kind in (other, element)
    )
    kernel = Kernel(name="convert", tensors=tensors, nests=(nest,))
    running = Context(running=case.target.program == "function")
    return case.simulator.launch(f"convert to {element}", bind(kernel, {}, running))
