"""decompose_collective: a collective and the product beside it, in parts that overlap.

What it checks: an all-gather that one product reads whole, and a reduce-scatter or all-reduce of
what one product computes. It simulates both in 2, 4 and 8 parts: while one part is on the links,
the product of another one is computed; a part pays the latency of a collective of its own.
Why it matters: one needs all of the other, so no schedule hides a whole collective; parts do.
Example: weights that are gathered before a product, which can start with the rows that are there
(Wang et al., Overlap Communication with Dependent Computation via Decomposition, ASPLOS 2023).
What to do: a collective matmul: XLA's windowed einsum, or a loop of chunks on two streams.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.network_case import Change, NetworkCase
from xpu_shark.passes.advise.plan import Part, Work, serial
from xpu_shark.passes.advise.shrink import accumulated, outermost_axis, shrunk
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.workload import Collective

NAME = "decompose_collective"
CATEGORY = "xpu-shark.collective"
PARTS = (2, 4, 8)
MOST_LATENCY = 0.9  # of its time: with more every part takes as long as the whole


def propose(case: NetworkCase) -> Iterator[Change]:
    """Every collective with one product that it feeds, or that feeds it."""
    for number, item in case.collectives.items():
        if item.kind == "all_gather":
            found = _reader(case, number)
        elif item.kind in ("all_reduce", "reduce_scatter"):
            found = case.producer(number)
        else:
            continue
        if found is None or not _worth(case, number, found[0]):
            continue
        step, tensor = found
        kernel = case.kernel(step)
        axis = outermost_axis(kernel, tensor)
        if axis is not None and any(nest.contraction for nest in kernel.nests):
            for parts in PARTS:
                yield from _in_parts(case, number, step, (kernel, axis), parts)


def _reader(case: NetworkCase, number: int) -> tuple[int, int] | None:
    """The one launch that reads all of an all-gather, and as which tensor."""
    readers = case.readers(number)
    if readers is None or len(readers) != 1 or readers[0].tensor < 0:
        return None
    whole = readers[0].bytes == case.payload(number)
    return (readers[0].step, readers[0].tensor) if whole else None


def _worth(case: NetworkCase, number: int, step: int) -> bool:
    """Whether two parts could gain: they hide half of the shorter one, and cost what two halves
    of the collective take longer than the whole."""
    if case.latency_share(number) > MOST_LATENCY:
        return False
    collective, launch = case.steps[number].time_ps, case.steps[step].time_ps
    part, shorter = _part(case, number, 2), min(collective, launch)
    if shorter <= 2 * (2 * case.simulator.least_ps(part) - collective):
        return False
    half = case.simulator.command(part)
    return half is not None and shorter > 2 * (2 * half.time_ps - collective)


def _part(case: NetworkCase, number: int, parts: int) -> Collective:
    size = -(-case.payload(number) // parts)
    return msgspec.structs.replace(case.collectives[number], bytes=size)


def _in_parts(
    case: NetworkCase, number: int, step: int, where: tuple[BoundKernel, int], parts: int
) -> Iterator[Change]:
    item, (kernel, axis) = case.collectives[number], where
    name = case.steps[step].label
    chunk = case.simulator.command(_part(case, number, parts))
    launches = _launches(case, name, kernel, axis, parts)
    if chunk is None or launches is None or kernel.axes[axis].extent < parts:
        return
    first = item.kind == "all_gather"
    both = (case.works[number], case.works[step])
    yield Change(
        what=f"{item.kind} of {item.bytes} B {item.element} and {name}",
        condition=f"the whole {item.kind} {'before' if first else 'behind'} the product",
        suggestion=f"both in {parts} parts, the links busy with one while another is computed",
        confidence="high" if kernel.axes[axis].parallel else "medium",
        steps=(number, step),
        before=serial(both if first else both[::-1]),
        after=_pipelined(chunk, launches, parts, first=first),
    )


def _launches(
    case: NetworkCase, name: str, kernel: BoundKernel, axis: int, parts: int
) -> list[Work] | None:
    """The product's parts; behind those of a reduction what follows it."""
    launch = case.simulator.launch
    if kernel.axes[axis].parallel:
        return [launch(name, shrunk(kernel, axis, parts))] * parts
    cut = accumulated(kernel, axis, parts)
    if cut is None:
        return None
    once, again, rest = cut
    works = [launch(name, once), *[launch(name, again)] * (parts - 1)]
    return works if rest is None else [*works, launch(f"{name} (after the product)", rest)]


def _pipelined(chunk: Work, launches: list[Work], parts: int, *, first: bool) -> tuple[Part, ...]:
    """Part after part on both sides; with `first` a launch waits for its collective, else the
    other way round."""
    plan: list[Part] = []
    last: dict[bool, tuple[int, ...]] = {True: (), False: ()}
    for number in range(max(parts, len(launches))):
        pair = [(True, chunk)] if number < parts else []
        pair += [(False, launches[number])] if number < len(launches) else []
        before: tuple[int, ...] = ()
        for network, work in pair if first else pair[::-1]:
            plan.append(Part(work, tuple(sorted({*last[network], *before}))))
            before = last[network] = (len(plan) - 1,)
    return tuple(plan)
