"""launch: a dispatch is shorter than its own launch.

What it checks: whether the least times of everything that a dispatch does add up to less than its
launch. It simulates the same work inside another launch and, where `--xpu-per=N` says how many
results (tokens, images) one call gives, the work of several results in one launch.
Why it matters: a launch costs the same however little it starts. Hundreds of small dispatches a
token are where decode time goes.
Example: a cast of seven numbers ahead of the multiplication that uses them.
What to do: fuse it with the dispatch that makes its operand or uses its result, as a rule the one
launched next to it (`--xpu-effort=high` tries IREE's flags for that), several launches of one
dispatch that follow each other with a loop inside; batch requests, or run several tokens a step.
A batch shares the larger operand of each product and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.batched import batched
from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.neighbours import listed
from xpu_shark.passes.advise.rules.standalone_copy import only_moves
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target

NAME = "launch"
CATEGORY = "xpu-shark.tiling"
MOST_TOGETHER = 64  # results in one launch, at most: beyond, latency is what a user notices


def ceiling(run: KernelRun, target: Target) -> int:
    launch = run.bounds.least_ps["launch"]
    return launch if run.bounds.serial_ps < 2 * launch else 0


def propose(case: Case) -> Iterator[Proposal]:
    """Its work in another launch; and, where results are counted, that of several results."""
    condition = f"a launch of its own, {_count(case)}, longer than its work"
    near = case.near
    if near.closest and not _adds_parts(case) and not (near.readers and only_moves(case.kernel)):
        several = "s" if len(near.closest) > 1 else ""
        yield Proposal(
            condition=condition,
            suggestion=f"one launch for it and its neighbour{several} {listed(near.closest)}",
            launches=((case.kernel, case.run.plan),),
            confidence="high",
            machine=lambda target: msgspec.structs.replace(target, launch_ns=0.0),
            others=near.closest,
        )
    elif near.chain > 1:
        yield Proposal(
            condition=condition,
            suggestion=f"one launch for those that follow each other, {near.chain:.3g} at a time",
            launches=((case.kernel, case.run.plan),),
            confidence="high",
            machine=lambda target: _shared(target, near.chain),
        )
    if case.results is None:
        return
    given = max(case.results // case.dispatch.launches, 1)  # results that a launch is for already
    together = _together(case, MOST_TOGETHER // given)
    if together < 2:
        return
    kernel, then = batched(case.kernel, together), together * given
    yield Proposal(
        condition=condition,
        suggestion=f"{then} results a launch (a batch, or steps of {then} tokens)",
        launches=((kernel, case.tiling(kernel)),),
        confidence="high",
        stands_for=together,
    )


def _shared(target: Target, launches: float) -> Target:
    """The target as so many launches see it that pay for one."""
    return msgspec.structs.replace(target, launch_ns=target.launch_ns / launches)


def _adds_parts(case: Case) -> bool:
    """Whether a neighbour is the first pass of a reduction that IREE has split: every part has to
    be there before they are added up, for which cores wait for each other at a launch only."""
    split = {
        kernel.name for kernel in case.kernels if any(-1 in nest.loops for nest in kernel.nests)
    }
    return not split.isdisjoint(case.near.closest)


def _count(case: Case) -> str:
    """How often it is launched, for one result where those are counted."""
    launches, results = case.dispatch.launches, case.results
    trips = f" for each trip of {', '.join(case.dispatch.per)}" if case.dispatch.per else ""
    if results is None:
        return f"{launches} in a call{trips}"
    return f"{launches / results:.3g} for each result{trips}"


def _together(case: Case, most: int) -> int:
    """How many launches could be one: the least power of two of them whose work takes as long as
    one launch, and no more than `most`, which may be none."""
    launch = case.run.bounds.least_ps["launch"]
    work = max(case.run.time_ps - launch, 1)
    together = 2
    while together * work < launch and together < most:
        together *= 2
    return together if together <= most else 1
