"""gather_both: both factors of a product are gathered before it.

What it checks: a product of which two operands are results of all-gathers. It simulates the one
that is gathered along rows or columns of the result kept as it is: each device gathers the other
one, computes its part of the result, and the result is gathered.
Why it matters: with both factors everywhere each device computes all of the product, so that more
devices do not make it faster.
Example: activations and weights, both sharded, both gathered in front of every layer.
What to do: keep the operand sharded that the remark names; where what follows can work on a part
of the result, the last all-gather is not needed either.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xpu_shark.passes.advise.network_case import Change, NetworkCase
from xpu_shark.passes.advise.plan import serial
from xpu_shark.passes.advise.shrink import outermost_axis, shrunk
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.workload import Collective

NAME = "gather_both"
CATEGORY = "xpu-shark.collective"


def propose(case: NetworkCase) -> Iterator[Change]:
    """Every product behind two all-gathers, with either operand kept."""
    gathered: dict[int, dict[int, int]] = {}  # by launch: its tensor, from which all-gather
    for number, item in case.collectives.items():
        for reader in case.readers(number) or () if item.kind == "all_gather" else ():
            if reader.tensor >= 0 and reader.bytes == case.payload(number):
                gathered.setdefault(reader.step, {})[reader.tensor] = number
    for step, operands in gathered.items():
        kernel = case.kernel(step)
        factors = {
            nest.reads[side].tensor
            for nest in kernel.nests
            if nest.contraction is not None
            for side in (nest.contraction.lhs, nest.contraction.rhs)
        }
        if len(factors & operands.keys()) == 2 and len(operands) == 2:
            for kept in operands:
                yield from _kept(case, step, operands, kept)


def _kept(case: NetworkCase, step: int, operands: dict[int, int], kept: int) -> Iterator[Change]:
    kernel, gather = case.kernel(step), operands[kept]
    axis = outermost_axis(kernel, kept)
    [other] = [number for tensor, number in operands.items() if tensor != kept]
    if axis is None or not kernel.axes[axis].parallel:
        return
    item, devices = case.collectives[gather], case.group(gather)
    whole = case.simulator.command(_gather(item, _result_bytes(kernel)))
    if whole is None:
        return
    part = case.simulator.launch(case.steps[step].label, shrunk(kernel, axis, devices))
    shape = "x".join(map(str, (*kernel.tensors[kept].shape, kernel.tensors[kept].element)))
    steps = (gather, other, step)
    yield Change(
        what=f"2 all_gathers and {case.steps[step].label}",
        condition=f"both factors gathered, all of the product on each of {devices} devices",
        suggestion=f"the {shape} factor kept sharded, the result gathered",
        confidence="high",
        steps=tuple(sorted(steps)),
        before=serial(case.works[number] for number in sorted(steps)),
        after=serial((case.works[other], part, whole)),
    )


def _gather(item: Collective, bytes: int) -> Collective:
    return Collective(
        kind="all_gather",
        reduction="",
        element=item.element,
        bytes=bytes,
        group=item.group,
        groups=item.groups,
    )


def _result_bytes(kernel: BoundKernel) -> int:
    written = {access.tensor for nest in kernel.nests for access in nest.writes}
    results = [kernel.tensors[number] for number in written if kernel.tensors[number].is_global]
    return sum(storage_bytes(each.element, prod(each.shape)) for each in results)
