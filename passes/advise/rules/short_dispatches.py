"""short_dispatches: small dispatches of one program wait for memory one after another.

What it checks: where a target runs a whole function as one program, launches that follow each
other and are shorter than what two waits for main memory take, most of that waiting. It simulates
one kernel with the work of all of them, the results that pass between them in the core.
Why it matters: no launch is paid there, but each dispatch waits for its operands before it does
anything, and stores its result before it ends, once more for each dispatch.
Example: a bias of a few numbers, scaled by a dispatch of its own ahead of the one that adds it.
What to do: compute them in one op, or let IREE fuse them: remove the barrier or the region between
them, `--iree-opt-level=O2`, `--iree-dispatch-creation-enable-aggressive-fusion`. Where a launch has
a price the rule `launch` speaks of it. Results stay bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from xpu_shark.passes.advise.dataflow import Change, Dataflow
from xpu_shark.passes.advise.joined import joined
from xpu_shark.passes.advise.rules.standalone_copy import only_moves
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.units.cost import picoseconds

NAME = "short_dispatches"
CATEGORY = "xpu-shark.fusion"
MOST = 8  # dispatches in one: what nobody would write as one op is not proposed
replace = msgspec.structs.replace


def propose(flow: Dataflow, target: Target) -> Iterator[Change]:
    """Every row of short launches as one, and every two of them that follow each other."""
    for row in _rows(flow, target):
        pairs = pairwise(row)
        for steps in (tuple(row[:MOST]), *(pairs if len(row) > 2 else ())):
            whole = _one(flow, steps)
            if whole is None:
                continue
            names = dict.fromkeys(_kernel(flow, step).name for step in steps)
            yield Change(
                steps,
                (whole,),
                f"{len(steps)} that wait for memory one after another, longer than they work",
                f"one dispatch for {' and '.join(names)}",
            )


def short(run: KernelRun, target: Target) -> bool:
    """Whether it takes less than a load's and a store's latency twice, most of it waiting."""
    waits = 2 * (picoseconds(target.memory[0].latency_ns) + picoseconds(target.dma.setup_ns))
    return run.time_ps < 2 * waits and run.time_ps >= 2 * run.bounds.serial_ps


def _rows(flow: Dataflow, target: Target) -> Iterator[list[int]]:
    """Short launches of a running program that follow each other in one block, two or more."""
    row: list[int] = []
    for number, step in enumerate(flow.steps):
        fits = step.kernel is not None and _small(step.kernel) and short(step.run, target)
        if row and fits and flow.steps[row[-1]].block == step.block:
            row.append(number)
            continue
        if len(row) > 1:
            yield row
        row = [number] if fits else []
    if len(row) > 1:
        yield row


def _small(kernel: BoundKernel) -> bool:
    """A part of a running program that is neither a product nor a move: nobody writes these as one
    op with others, and rules of their own speak of them."""
    products = any(nest.contraction is not None for nest in kernel.nests)
    return kernel.running and not products and not only_moves(kernel)


def _kernel(flow: Dataflow, step: int) -> BoundKernel:
    kernel = flow.steps[step].kernel
    assert kernel is not None
    return kernel


def _one(flow: Dataflow, steps: Sequence[int]) -> BoundKernel | None:
    """The work of all, in order."""
    same, inside = [], []
    for (maker, tensor), places in flow.readers.items():
        within = [(steps.index(step), other) for step, other in places if step in steps]
        if maker in steps and within:
            made = (steps.index(maker), tensor)
            same += [(made, place) for place in within]
            if flow.private((maker, tensor)) and len(within) == len(places):
                inside.append(made)
    whole = joined([_kernel(flow, step) for step in steps], same, inside)
    if whole is None:
        return None
    tensors = tuple(t if t.is_global else replace(t, resident=False) for t in whole.tensors)
    return replace(whole, tensors=tensors)
