"""shard_dimension: a product sharded along the dimension that costs more to put together.

What it checks: an all-reduce of a product of an intermediate result and a weight that both are
sharded along the reduction. It simulates the weight sharded along its other dimension instead:
the intermediate result is gathered, each device computes some columns, and these are gathered.
Why it matters: the first way sends every element of the result twice, the other one those of the
operand and of the result once. Where the operand is the smaller one, that is less.
Example: a product that widens its operand, sharded by the operand's columns.
What to do: shard the weight by its output dimension; where what follows works on some columns, as
another sharded product does, the last all-gather is not needed either.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import msgspec

from xpu_shark.passes.advise.network_case import Change, NetworkCase
from xpu_shark.passes.advise.plan import serial
from xpu_shark.passes.advise.shrink import resized
from xpu_shark.simulator.bind import BoundNest
from xpu_shark.simulator.element_type import storage_bytes

NAME = "shard_dimension"
CATEGORY = "xpu-shark.collective"


def propose(case: NetworkCase) -> Iterator[Change]:
    """Every all-reduce of a product of an intermediate result and something given."""
    for number, item in case.collectives.items():
        found = case.producer(number) if item.kind == "all_reduce" else None
        if found is None:
            continue
        step, kernel = found[0], case.kernel(found[0])
        nest = kernel.nests[0]
        side = _operand(case, step, nest)
        if side is None or len(kernel.nests) > 1:
            continue
        operand, k, n = side
        devices = case.group(number)
        if kernel.axes[n].extent < devices:
            continue
        tensor = kernel.tensors[operand]
        size = storage_bytes(tensor.element, prod(tensor.shape)) * devices
        if size >= case.payload(number):  # sent instead of one half of the all-reduce
            continue
        other = resized(kernel, k, kernel.axes[k].extent * devices)
        other = resized(other, n, -(-kernel.axes[n].extent // devices))
        gathers = [
            case.simulator.command(
                msgspec.structs.replace(item, kind="all_gather", reduction="", bytes=bytes)
            )
            for bytes in (size, case.payload(number))
        ]
        if gathers[0] is None or gathers[1] is None:
            continue
        launch = case.simulator.launch(case.steps[step].label, other)
        yield Change(
            what=f"{case.steps[step].label} and all_reduce of {item.bytes} B {item.element}",
            condition=f"the weight sharded along the reduction over {devices} devices",
            suggestion=f"sharded along its {kernel.axes[n].extent} columns: gather {size} B of the "
            "operand, then the result",
            confidence="medium",
            steps=(step, number),
            before=serial((case.works[step], case.works[number])),
            after=serial((gathers[0], launch, gathers[1])),
        )


def _operand(case: NetworkCase, step: int, nest: BoundNest) -> tuple[int, int, int] | None:
    """The factor that the program computed where the other one is given to it: its tensor, the
    axis of the reduction, and the axis of the other factor's columns."""
    product = nest.contraction
    if product is None or len(product.k) != 1 or len(product.m) != 1 or len(product.n) != 1:
        return None
    made = [nest.reads[side].tensor in case.transient(step) for side in (product.lhs, product.rhs)]
    if made == [True, False]:
        return nest.reads[product.lhs].tensor, nest.axes[product.k[0]], nest.axes[product.n[0]]
    if made == [False, True]:
        return nest.reads[product.rhs].tensor, nest.axes[product.k[0]], nest.axes[product.m[0]]
    return None
