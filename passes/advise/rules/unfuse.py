"""unfuse: a fused dispatch would be faster as two.

What it checks: for a dispatch of several loop nests it estimates both halves of every cut between
them, with what passes over the cut stored and loaded again, and simulates the best cut.
Why it matters: what is fused shares one tile. A reduction in it may leave too few tiles for the
cores, or its transient tensors may not fit and go out to main memory as they would without
fusing, at a tile that suits neither part.
Example: a product fused with the reduction over its whole rows, on a device of 304 cores.
What to do: keep the two apart: a `util.optimization_barrier` on the value between them, or a
lower `--iree-opt-level`. Where both halves are one op, such as a softmax, write it out first as its
parts: maximum, sum of exponentials, quotients. Results stay bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.causes import parallel_tiles
from xpu_shark.passes.advise.ceilings import above_bound_ps
from xpu_shark.passes.advise.reloads import spilled
from xpu_shark.simulator import tiling as tilings
from xpu_shark.simulator.bind import Axis, BoundKernel, BoundNest
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target

NAME = "unfuse"
CATEGORY = "xpu-shark.fusion"
ONE_OP = ", the op there written out as several with a barrier between"


def ceiling(run: KernelRun, target: Target) -> int:
    return max(0, above_bound_ps(run) - run.bounds.least_ps["launch"])


def propose(case: Case) -> Iterator[Proposal]:
    """The cut with the least estimate of both halves together."""
    cuts = range(1, len(case.kernel.nests))
    found = []
    for cut in cuts if not case.kernel.online else ():
        halves = halved(case.kernel, cut)
        launches = [(half, tilings.choose(half, case.target, "default")) for half in halves]
        time = sum(estimate(*launch, case.target).time_ps for launch in launches)
        found.append((time, cut, launches))
    if not found:
        return
    _, cut, launches = min(found, key=lambda each: each[:2])
    last, first = case.kernel.nests[cut - 1 : cut + 1]
    name = " at ".join(filter(None, (last.name.rpartition(".")[2], last.location)))
    yield Proposal(
        condition=f"{len(case.kernel.nests)} loop nests in one dispatch, {_why(case)}",
        suggestion=f"two dispatches, cut after nest {cut} ({name})"
        + (ONE_OP if last.location and last.location == first.location else ""),
        launches=tuple(launches),
        confidence="high",
    )


def halved(kernel: BoundKernel, cut: int) -> tuple[BoundKernel, BoundKernel]:
    """Nests before `cut` and from it on; what passes between them goes through main memory."""
    sides = (kernel.nests[:cut], kernel.nests[cut:])
    made = {access.tensor for nest in sides[0] for access in nest.writes}
    used = {access.tensor for nest in sides[1] for access in (*nest.reads, *nest.writes)}
    tensors = tuple(
        msgspec.structs.replace(tensor, is_global=tensor.is_global or number in made & used)
        for number, tensor in enumerate(kernel.tensors)
    )
    whole = msgspec.structs.replace(kernel, tensors=tensors)
    first, second = (_part(whole, nests) for nests in sides)
    return first, second


def _part(kernel: BoundKernel, nests: tuple[BoundNest, ...]) -> BoundKernel:
    """A kernel of some of the nests, with the axes that they have."""
    kept = sorted({axis for nest in nests for axis in nest.axes})
    number = {axis: place for place, axis in enumerate(kept)}
    free = {
        axis: all(
            parallel
            for nest in nests
            for each, parallel in zip(nest.axes, nest.parallel, strict=True)
            if each == axis
        )
        for axis in kept
    }
    axes = tuple(Axis(kernel.axes[axis].extent, free[axis]) for axis in kept)
    moved = tuple(
        msgspec.structs.replace(nest, axes=tuple(number[axis] for axis in nest.axes))
        for nest in nests
    )
    return msgspec.structs.replace(kernel, nests=moved, axes=axes)


def _why(case: Case) -> str:
    """What fusing costs here."""
    tiles = parallel_tiles(case, case.run.plan)
    if spilled(case.kernel, case.run.plan, case.target):
        return "with transient tensors that go out to main memory"
    if tiles < case.target.cores:
        return f"{tiles} tiles on {case.target.cores} cores"
    return "sharing one tile"
