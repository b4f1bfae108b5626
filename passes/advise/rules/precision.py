"""precision: a narrower type would be faster, its conversions included.

What it checks: it simulates the dispatch with f32 inputs and results in bf16, or bf16 and f16 in
f8, where the target's matrix unit takes the type, with the conversion of every converted input
element as work of its own on the vector unit.
Why it matters: half the bytes and a faster matrix rate. Below the intensity at which the
conversions cost more than the bytes save, there is no advice: the simulation says so.
Example: a product of f32 operands on a unit that runs bf16 at four times the rate.
What to do: convert the model's weights and activations, or let the compiler demote
(`--iree-input-demote-f32-to-f16` and its relatives). Results round differently: check accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.ceilings import above_bound_ps
from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.units import matrix
from xpu_shark.simulator.workload import Work

NAME = "precision"
CATEGORY = "xpu-shark.precision"
NARROWER = {"f32": "bf16", "bf16": "f8E4M3FN", "f16": "f8E4M3FN"}


def ceiling(run: KernelRun, target: Target) -> int:
    return above_bound_ps(run)


def propose(case: Case) -> Iterator[Proposal]:
    """The main product of the dispatch in the next narrower float type."""
    for nest in case.kernel.nests:
        dims = nest.contraction
        if dims is None or dims.lhs_element != dims.rhs_element:
            continue
        narrow = NARROWER.get(dims.lhs_element)
        if narrow is None or not _native(case.target, narrow):
            continue
        kernel = narrowed(case.kernel, dims.lhs_element, narrow)
        yield Proposal(
            condition=f"product of {dims.lhs_element} operands",
            suggestion=f"{narrow} operands, accumulated in {dims.accumulator}",
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


def _native(target: Target, element: str) -> bool:
    return matrix.supports(target, element, element) == element
