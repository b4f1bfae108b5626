"""What a body consists of: shared loops, single nests, products with what takes their results."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from xpu_shark.simulator import flow
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.plan import Phase, can_share
from xpu_shark.simulator.target import Target


class Step(msgspec.Struct, frozen=True):
    """One part of a body: a loop over `axis` around `phases`. With no axis it is a single nest,
    or a product with the nests that take its results as they leave the array."""

    axis: int | None
    phases: tuple[Phase, ...]
    nests: tuple[int, ...]


def group(kernel: BoundKernel, target: Target, members: Iterable[Phase], depth: int) -> list[Step]:
    """The steps of a body inside `depth` common loops of `members`, in order."""
    steps: list[Step] = []
    for phase in members:
        if depth == len(phase.loops):
            for nest in phase.nests:
                if steps and _flows(kernel, target, steps[-1], phase, nest):
                    before = steps.pop()
                    steps.append(Step(None, (*before.phases, phase), (*before.nests, nest)))
                else:
                    steps.append(Step(None, (phase,), (nest,)))
            continue
        axis, shared = phase.loops[depth], phase.common(depth)
        last = steps[-1] if steps else None
        if (
            last is not None
            and last.axis is not None
            and shared is not None
            and last.phases[-1].common(depth) == shared
            and not phase.apart
            and can_share(kernel, last.phases, phase, axis)
        ):
            steps[-1] = Step(axis, (*last.phases, phase), (*last.nests, *phase.nests))
        else:
            steps.append(Step(axis, (phase,), phase.nests))
    return steps


def _flows(kernel: BoundKernel, target: Target, step: Step, phase: Phase, number: int) -> bool:
    """Whether nest `number` can work on results of the step's product before it is done."""
    if step.axis is not None or not flow.takes_results(
        kernel, target, step.nests, number, fused=not phase.apart
    ):
        return False
    axes = kernel.nests[number].axes
    return all(can_share(kernel, step.phases, phase, axis) for axis in axes)
