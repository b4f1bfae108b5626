"""conversion: a dispatch is bound by converting its operands.

What it checks: where the vector unit is what a dispatch waits for and part of its cycles go to
conversions. It simulates the dispatch with its operands stored in the type in which they are
used: no conversions, and the bytes of the wider type.
Why it matters: a conversion costs as much as an addition, for every element and every time. Bytes
that narrow storage saves may cost more than they are worth on a wide memory.
Example: 8-bit weights widened element by element ahead of a product with one row.
What to do: convert once where the operand is made, or keep what changes rarely (weights) in the
type in which it is used. Results stay bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.ceilings import unit_ps
from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.element_type import bits
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target

NAME = "conversion"
CATEGORY = "xpu-shark.precision"
KINDS = ("convert", "quantise")


def ceiling(run: KernelRun, target: Target) -> int:
    return unit_ps(run, "vector")


def propose(case: Case) -> Iterator[Proposal]:
    """All operands that are narrower than what they are converted to, stored wide."""
    kernel = unconverted(case.kernel)
    wide = {
        tensor.element
        for tensor, old in zip(kernel.tensors, case.kernel.tensors, strict=True)
        if tensor != old
    }
    if not wide:
        return
    yield Proposal(
        condition="operands that are converted in the dispatch",
        suggestion=f"operands stored as {', '.join(sorted(wide))}, in which they are used",
        launches=((kernel, case.tiling(kernel)),),
        confidence="high",
    )


def unconverted(kernel: BoundKernel) -> BoundKernel:
    """The kernel with every narrow input stored as what its nest converts it to."""
    stored: dict[int, str] = {}
    for nest in kernel.nests:
        if wide := _target_type(nest):
            for access in nest.reads:
                tensor = kernel.tensors[access.tensor]
                if tensor.is_global and bits(tensor.element) < bits(wide):
                    stored[access.tensor] = wide
    tensors = tuple(
        msgspec.structs.replace(tensor, element=stored.get(number, tensor.element))
        for number, tensor in enumerate(kernel.tensors)
    )
    nests = tuple(
        msgspec.structs.replace(
            nest, work=tuple(work for work in nest.work if work.kind not in KINDS)
        )
        if any(access.tensor in stored for access in nest.reads)
        else nest
        for nest in kernel.nests
    )
    return msgspec.structs.replace(kernel, tensors=tensors, nests=nests)


def _target_type(nest: BoundNest) -> str:
    return next((work.element for work in nest.work if work.kind in KINDS), "")
