"""oversized_transient: a result goes to main memory because no nearer level holds it whole.

What it checks: whether a tensor that one dispatch makes and one other reads is larger than the
memory beside the cores and than every cache has room for, while a tile of it is not. It simulates
both dispatches as one that makes the tensor tile by tile along the axes that both walk and uses
each tile while it is there.
Why it matters: the tensor is stored to main memory and loaded again, and the dispatches wait for
it. Where both are past the ridge of every memory level no byte is waited for, and nothing is
advised.
Example: scores of 32 x 4096 x 4096 f32, 2 GiB, between a product and the softmax over their rows.
What to do: one dispatch of both, tiled along the axes that they share: an op for which the compiler
has a fused kernel (attention), or a `flow.dispatch.region` around both. Results stay bit for bit.
Where they have to stay two, split them along a shared axis and launch the parts in turns, so that
each part fits a cache; what a cache keeps from launch to launch is not simulated, so that is not
proved and not advised.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xpu_shark.passes.advise.dataflow import Change, Dataflow
from xpu_shark.passes.advise.into_readers import into_readers
from xpu_shark.passes.advise.joined import axis_of
from xpu_shark.simulator import tiling as tilings
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.plan import phases
from xpu_shark.simulator.residency import HELD_SHARE, Residency
from xpu_shark.simulator.target import Target

NAME = "oversized_transient"
CATEGORY = "xpu-shark.memory"


def propose(flow: Dataflow, target: Target) -> Iterator[Change]:
    """Every dispatch with one such result and one reader."""
    for step, each in enumerate(flow.steps):
        for made in _results(each.kernel, target):
            readers = {reader for reader, _ in flow.readers.get((step, made), ())}
            steps, kernels = into_readers(flow, step) if len(readers) == 1 else ((), ())
            if len(kernels) != 1:
                continue
            one, other = (flow.steps[number].kernel for number in steps)
            assert one is not None
            assert other is not None
            tensor = one.tensors[made]
            size = "x".join(map(str, (*tensor.shape, tensor.element)))
            count = _bytes(tensor.shape, tensor.element)
            part = _part(kernels[0], made, target)
            if not part:
                continue
            tile = "x".join(map(str, part))
            yield Change(
                steps=steps,
                after=kernels,
                condition=f"{size} between {one.name} and {other.name}, {count} B, for which no "
                f"level but {target.memory[0].name} has room",
                suggestion=f"one dispatch of both, {tile} of it at a time",
            )


def _results(kernel: BoundKernel | None, target: Target) -> list[int]:
    """Tensors that the kernel writes to main memory and that are larger than what is nearer."""
    if kernel is None:
        return []
    caches = [level.bytes for level in target.memory[1:-1]]
    room = max([*caches, int(HELD_SHARE * target.memory[-1].bytes)])
    written = {access.tensor for nest in kernel.nests for access in nest.writes}
    return [
        number
        for number in sorted(written)
        if kernel.tensors[number].is_global and not kernel.tensors[number].resident
        if _bytes(kernel.tensors[number].shape, kernel.tensors[number].element) > room
    ]


def _bytes(shape: tuple[int, ...], element: str) -> int:
    return storage_bytes(element, prod(shape))


def _part(kernel: BoundKernel, tensor: int, target: Target) -> list[int]:
    """What of the tensor is in the core at a time, with the target's own tiles; empty where that is
    all of it, or where it goes out to memory even so."""
    plan = tilings.own(kernel, target)
    axes = [axis_of(kernel, tensor, place) for place in range(len(kernel.tensors[tensor].shape))]
    whole = list(kernel.tensors[tensor].shape)
    part = [
        size if axis is None else min(size, plan.tile[axis])
        for size, axis in zip(whole, axes, strict=True)
    ]
    spread = phases(kernel, plan, distributed=target.execution == "waves")
    leaves = tensor in Residency(kernel, plan, target, spread).out
    return [] if leaves or part == whole else part
