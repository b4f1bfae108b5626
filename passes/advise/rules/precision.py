"""precision: a narrower type would be faster, its conversions included.

What it checks: it simulates a product of f32 operands with these in bf16, of bf16 or f16 operands
in f8, where the target's matrix unit takes the type, or one that holds it and bytes are the
limit, with the conversion of every operand element that a tile takes as work of its own on the
vector unit. A product at its bound is looked at too: its bytes, or its f32 multiply-adds, are
what a narrower type makes less of. One of 16 bits that keeps the matrix unit busy all the time
passes as it is. At high effort it also tries i8 where the unit takes it, and where bytes are the
limit the larger operand in 4 bits (i4 or f4E2M1FN), widened where it is read.
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
from math import prod

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
I8, I4 = "i8", "i4"
# Types of half the bytes, best first; the first that the unit has is taken, else the first that it
# can run in a wider one.
NARROWER = {"f32": ("bf16", "f16"), "bf16": F8, "f16": F8}


def ceiling(run: KernelRun, target: Target) -> int:
    """All of a product's time but its launch: less bytes and less work, whatever is the limit."""
    return run.time_ps - run.bounds.least_ps["launch"] if run.product else 0


def propose(case: Case) -> Iterator[Proposal]:
    """The main product of the dispatch in the next narrower float type; at high effort also in
    integers, and with its larger operand in 4 bits."""
    for nest in case.kernel.nests:
        dims = nest.contraction
        if dims is None or dims.lhs_element != dims.rhs_element:
            continue
        wide = dims.lhs_element
        if wide not in NARROWER or _at_its_best(case, wide):
            continue
        by_bytes = _limit(case) == case.target.memory[0].name
        for narrow, element in _narrower(case.target, wide, thorough=case.thorough):
            if element != narrow and not by_bytes:
                continue
            widened = f"multiplied as {element}, " if element != narrow else ""
            sums = "i32" if narrow == I8 else dims.accumulator
            yield _proposal(
                case,
                narrowed(case.kernel, wide, narrow),
                f"{narrow} operands, {widened}accumulated in {sums}",
                wide,
            )
        if case.thorough and by_bytes:
            yield _proposal(
                case,
                with_packed(case.kernel, nest),
                "its larger operand in 4 bits (i4 or "
                f"f4E2M1FN), widened to {wide} where it is read",
                wide,
            )
        return


def _proposal(case: Case, kernel: BoundKernel, suggestion: str, wide: str) -> Proposal:
    return Proposal(
        condition=f"product of {wide} operands",
        suggestion=suggestion,
        launches=((kernel, case.tiling(kernel)),),
        confidence="low",
    )


def with_packed(kernel: BoundKernel, product: BoundNest) -> BoundKernel:
    """`kernel` with the operand of `product` that has more elements stored in 4 bits; each of its
    elements is widened once in every tile that takes it."""
    assert product.contraction is not None
    places = (product.contraction.lhs, product.contraction.rhs)
    packed = max(
        (product.reads[place].tensor for place in places),
        key=lambda tensor: prod(kernel.tensors[tensor].shape),
    )
    tensors = tuple(
        msgspec.structs.replace(tensor, element=I4) if number == packed else tensor
        for number, tensor in enumerate(kernel.tensors)
    )
    wide = product.contraction.lhs_element
    widening = Work(kind="quantise", element=wide, count=1)
    nests = tuple(
        msgspec.structs.replace(nest, work=(*nest.work, widening)) if nest is product else nest
        for nest in kernel.nests
    )
    return msgspec.structs.replace(kernel, tensors=tensors, nests=nests)


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


def _narrower(target: Target, wide: str, *, thorough: bool) -> list[tuple[str, str]]:
    """Types to go to with those that they are multiplied in: the first of the floats that the unit
    has, else the first that it can run in a wider one; with `thorough` i8 too, where it has that.
    """
    runs = [(narrow, matrix.supports(target, narrow, narrow)) for narrow in NARROWER[wide]]
    taken = [(narrow, element) for narrow, element in runs if element is not None]
    found = [min(taken, key=lambda pair: pair[0] != pair[1])] if taken else []
    if thorough and matrix.supports(target, I8, I8) == I8:
        found.append((I8, I8))
    return found
