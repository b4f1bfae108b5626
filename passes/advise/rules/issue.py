"""issue: a dispatch is bound by issuing vector instructions, not by bytes or products.

What it checks: where the vector unit is what a dispatch waits for, whether its instructions are
partly masked because the innermost loop is short, and whether a narrower type would do more
elements an instruction. Both are simulated: the longest parallel loop innermost, and plain
operations in a type that the unit packs, with a conversion for every operand.
Why it matters: an instruction costs the same with one lane in use as with all.
Example: additions over rows of 3 elements on 64 lanes.
What to do: as the remark says. Another order of loops keeps results bit for bit; a narrower type
rounds differently.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.ceilings import unit_ps
from xpu_shark.passes.advise.rules.special_functions import FORMS, cycles_by_kind
from xpu_shark.simulator.bind import BoundNest
from xpu_shark.simulator.element_type import bits, is_float
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target, Vector
from xpu_shark.simulator.units import vector
from xpu_shark.simulator.workload import Access, Work

NAME = "issue"
CATEGORY = "xpu-shark.tiling"
MASKED = 0.1  # share of lanes without work that is worth another order of loops


def ceiling(run: KernelRun, target: Target) -> int:
    return unit_ps(run, "vector")


def propose(case: Case) -> Iterator[Proposal]:
    yield from _longer_rows(case)
    yield from _packed(case)


def _longer_rows(case: Case) -> Iterator[Proposal]:
    """Nests whose innermost loop is short, with their longest parallel loop innermost."""
    unit = case.target.vector
    nests = tuple(_turned(nest) if _masked(nest, unit) else nest for nest in case.kernel.nests)
    if nests == case.kernel.nests:
        return
    worst = max(
        (nest for nest in case.kernel.nests if _masked(nest, unit)), key=lambda nest: nest.points
    )
    kernel = msgspec.structs.replace(case.kernel, nests=nests)
    yield Proposal(
        condition=f"rows of {worst.extents[-1]} on {unit.width or unit.lanes} lanes",
        suggestion=f"the loop of {max(worst.extents)} innermost",
        launches=((kernel, case.tiling(kernel)),),
        confidence="high",
    )


def _masked(nest: BoundNest, unit: Vector) -> bool:
    if nest.contraction is not None or not nest.extents or not _longest(nest):
        return False
    if any(work.loops is not None for work in nest.work) or not nest.points:
        return False
    executed = vector.padded(unit, nest.points, min(nest.extents[-1], nest.points))
    return executed > nest.points * (1 + MASKED)


def _longest(nest: BoundNest) -> int:
    """The longest parallel dim that is longer than the innermost, counted from 1; 0 if none is."""
    free = [dim for dim in range(len(nest.extents) - 1) if nest.parallel[dim]]
    dim = max(free, key=lambda dim: (nest.extents[dim], -dim), default=-1)
    return dim + 1 if dim >= 0 and nest.extents[dim] > nest.extents[-1] else 0


def _turned(nest: BoundNest) -> BoundNest:
    """The nest with its longest parallel loop and its innermost one exchanged."""
    one, other = _longest(nest) - 1, len(nest.extents) - 1
    place = list(range(len(nest.extents)))
    place[one], place[other] = other, one

    def access(old: Access) -> Access:
        return Access(
            tensor=old.tensor,
            map=tuple(
                msgspec.structs.replace(index, terms=tuple((place[d], c) for d, c in index.terms))
                for index in old.map
            ),
        )

    return msgspec.structs.replace(
        nest,
        extents=tuple(nest.extents[dim] for dim in place),
        parallel=tuple(nest.parallel[dim] for dim in place),
        axes=tuple(nest.axes[dim] for dim in place),
        reads=tuple(map(access, nest.reads)),
        writes=tuple(map(access, nest.writes)),
        tiles=(),
        pinned=False,
    )


def _packed(case: Case) -> Iterator[Proposal]:
    """Plain float operations in a type that the vector unit packs, every operand converted."""
    cycles = cycles_by_kind(case.kernel, case.target)
    for element in filter(is_float, case.target.vector.packed):
        nests = tuple(_narrowed(nest, element) for nest in case.kernel.nests)
        kernel = msgspec.structs.replace(case.kernel, nests=nests)
        if sum(cycles_by_kind(kernel, case.target).values()) < sum(cycles.values()):
            plain = sum(each for kind, each in cycles.items() if kind not in FORMS)
            yield Proposal(
                condition=f"plain operations, {100 * plain / sum(cycles.values()):.0f} % of the "
                "vector unit's cycles",
                suggestion=f"the same in {element}, which the unit packs",
                launches=((kernel, case.tiling(kernel)),),
                confidence="low",
            )


def _narrowed(nest: BoundNest, element: str) -> BoundNest:
    """Wider plain float operations in `element`, with a conversion for each operand."""

    def wide(work: Work) -> bool:
        plain = work.kind not in FORMS and work.kind != "convert"
        return plain and is_float(work.element) and bits(work.element) > bits(element)

    widest = max(filter(wide, nest.work), key=lambda work: bits(work.element), default=None)
    if nest.contraction is not None or widest is None:
        return nest
    work = tuple(
        msgspec.structs.replace(item, element=element) if wide(item) else item for item in nest.work
    )
    operands = len(nest.reads) + len(nest.writes)
    convert = Work(kind="convert", element=widest.element, count=operands)
    return msgspec.structs.replace(nest, work=(*work, convert))
