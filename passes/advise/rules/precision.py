"""precision: a narrower type would be faster, its conversions included.

What it checks: it simulates a product of f32 operands with these in bf16, of bf16 or f16 operands
in f8, where the target's matrix unit takes the type, or one that holds it and bytes are the
limit, with the conversion of every operand element that a tile takes as work of its own on the
vector unit. A product at its bound is looked at too: its bytes, or its f32 multiply-adds, are
what a narrower type makes less of. One of 16 bits that keeps the matrix unit busy all the time
passes as it is.
Why it matters: half the bytes, and a faster rate where the unit has one for the type. Where the
conversions take longer than the bytes save there is no advice: the simulation says so.
Example: a product of f32 operands on a unit that runs bf16 at four times the rate; one row times
a matrix, which takes as long as the matrix has bytes.
What to do: store the model's weights in the type, and let the compiler demote what it computes
(`--iree-global-opt-demote-contraction-inputs-operations=all` with `-type=bf16`). Results round
differently: check accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.ceilings import above_bound_ps
from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.element_type import bits
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.units import matrix
from xpu_shark.simulator.workload import Work

NAME = "precision"
CATEGORY = "xpu-shark.precision"
F8 = ("f8E4M3FN", "f8E4M3FNUZ")
# Types of half the bytes, best first; the first that the unit has is taken, else the first that it
# can run in a wider one.
NARROWER = {"f32": ("bf16", "f16"), "bf16": F8, "f16": F8}


def ceiling(run: KernelRun, target: Target) -> int:
    """All of a product's time but its launch: less bytes and less work, whatever is the limit."""
    return run.time_ps - run.bounds.least_ps["launch"] if run.product else 0


def propose(case: Case) -> Iterator[Proposal]:
    """The main product of the dispatch in the next narrower float type."""
    for nest in case.kernel.nests:
        dims = nest.contraction
        if dims is None or dims.lhs_element != dims.rhs_element:
            continue
        found = _narrower(case.target, dims.lhs_element)
        if found is None or _at_its_best(case, dims.lhs_element):
            continue
        narrow, element = found
        if element != narrow and _limit(case) != case.target.memory[0].name:
            continue
        widened = f"multiplied as {element}, " if element != narrow else ""
        kernel = narrowed(case.kernel, dims.lhs_element, narrow)
        yield Proposal(
            condition=f"product of {dims.lhs_element} operands",
            suggestion=f"{narrow} operands, {widened}accumulated in {dims.accumulator}",
            launches=((kernel, case.tiling(kernel)),),
            confidence="low",
        )
        return


def narrowed(kernel: BoundKernel, wide: str, narrow: str) -> BoundKernel:
    """Operands of products stored as `narrow`; each element read is converted from `wide` once.

    The weights could be stored converted; the activations cannot, so counting both, the smaller
    operand as if it were as large as the other, is the cautious side.
    """
    operands = {
        nest.reads[place].tensor
        for nest in kernel.nests
        if nest.contraction is not None
        for place in (nest.contraction.lhs, nest.contraction.rhs)
    }
    tensors = tuple(
        msgspec.structs.replace(tensor, element=narrow)
        if number in operands and tensor.element == wide and tensor.is_global
        else tensor
        for number, tensor in enumerate(kernel.tensors)
    )
    nests = tuple(_narrow_nest(nest, wide, narrow) for nest in kernel.nests)
    return msgspec.structs.replace(kernel, tensors=tensors, nests=nests)


def _narrow_nest(nest: BoundNest, wide: str, narrow: str) -> BoundNest:
    dims = nest.contraction
    if dims is None or dims.lhs_element != wide:
        return nest
    work = tuple(
        msgspec.structs.replace(item, element=narrow) if item.kind == "madd" else item
        for item in nest.work
    )
    return msgspec.structs.replace(
        nest,
        work=(*work, Work(kind="quantise", element=wide, count=2)),
        contraction=msgspec.structs.replace(dims, lhs_element=narrow, rhs_element=narrow),
    )


def _at_its_best(case: Case, wide: str) -> bool:
    """Whether 16-bit products keep the matrix unit as busy as can be: as fast as this arithmetic
    is, and a type with other results is no way to use the chip better."""
    return bits(wide) <= 16 and _limit(case) == "matrix" and not above_bound_ps(case.run)


def _limit(case: Case) -> str:
    """What needs longest, whatever the schedule."""
    least = case.run.bounds.least_ps
    return max(least, key=lambda name: least[name])


def _narrower(target: Target, wide: str) -> tuple[str, str] | None:
    """The type to go to and the one that it is multiplied in; None where the unit takes none."""
    runs = [(narrow, matrix.supports(target, narrow, narrow)) for narrow in NARROWER.get(wide, ())]
    taken = [(narrow, element) for narrow, element in runs if element is not None]
    return min(taken, key=lambda pair: pair[0] != pair[1], default=None)
