"""Parallel loops inside a dispatch: one more parallel dim of every nest in them.

While the body is read, a position that moves with such a loop names it by a number below zero
(`grid.py`); once its nests are complete the loop becomes their outermost dim. What the body keeps
on chip is there once for every turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from iree.compiler import ir

from xpu_shark.passes.bridge import nest_edits
from xpu_shark.passes.bridge.grid import Loop
from xpu_shark.passes.bridge.indexing import Step, sliced
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader
from xpu_shark.passes.bridge.ops.loops import carry, name_values
from xpu_shark.passes.bridge.ops.tensor_move import read_insert_slice
from xpu_shark.passes.bridge.shapes import kept_dims
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.passes.bridge.views import View
from xpu_shark.simulator.symbolic import apply


def read_forall(builder: KernelBuilder, op: ir.Operation) -> None:
    """A grid of turns; its outputs are written in place, slice by slice."""
    (block,) = op.regions[0].blocks
    bounds = _bounds(builder, op)
    counters = list(block.arguments)[: len(bounds)]
    arguments = list(block.arguments)[len(bounds) :]
    carry(builder, arguments, list(op.operands)[len(op.operands) - len(arguments) :], in_place=True)
    outside, tensors, nests = set(builder.views), len(builder.tensors), len(builder.nests)
    loops = [
        builder.grid.enter(counter, lower, step)
        for counter, (lower, _, step) in zip(counters, bounds, strict=True)
    ]
    for counter, (lower, _, _) in zip(counters, bounds, strict=True):
        builder.sizes.bind(counter, lower)
        builder.counters.add(counter)
    builder.body(block)
    shared = {builder.views[value].tensor for value in outside if value in builder.views}
    own = {
        number
        for number in range(tensors, len(builder.tensors))
        if builder.tensors[number].storage == "local" and number not in shared
    }
    extents = [apply("ceildiv", apply("sub", upper, lower), step) for lower, upper, step in bounds]
    _spread(builder, nests, own, loops, extents)
    builder.grid.leave(loops)
    name_values(builder, op.results, arguments)


def read_in_parallel(builder: KernelBuilder, op: ir.Operation) -> None:
    builder.body(op.regions[0].blocks[0])


def read_parallel_insert(builder: KernelBuilder, op: ir.Operation) -> None:
    """What makes the source writes to its place in the destination, unless it has another one."""
    source, target = op.operands[0], op.operands[1]
    view = builder.view(source)
    made = view.tensor is not None and builder.is_product(view) and not view.steps
    if not made or view.tensor == builder.view(target).tensor:
        read_insert_slice(builder, op)
        return
    assert view.tensor is not None
    part = builder.update(target, target)
    strides = builder.sizes.mixed(op.attributes["static_strides"], op.opview.strides)
    offsets = builder.grid.offsets(
        op.attributes["static_offsets"], op.opview.offsets, builder.sizes
    )
    kept = kept_dims(op.attributes["static_sizes"], source.type.shape)
    _settle(builder, view.tensor, part, sliced(strides, kept, offsets))


def _bounds(builder: KernelBuilder, op: ir.Operation) -> list[tuple[Size, Size, Size]]:
    """Lower and upper bound and step of each loop."""
    view, mixed = op.opview, builder.sizes.mixed
    return list(
        zip(
            mixed(op.attributes["staticLowerBound"], view.dynamicLowerBound),
            mixed(op.attributes["staticUpperBound"], view.dynamicUpperBound),
            mixed(op.attributes["staticStep"], view.dynamicStep),
            strict=True,
        )
    )


def _settle(builder: KernelBuilder, tensor: int, part: View, step: Step) -> None:
    """All that is tensor `tensor` is a part of another one, `step` from it."""
    assert part.tensor is not None
    steps = (step, *part.steps)
    for each in steps:
        builder.nests = [nest_edits.moved(nest, tensor, each) for nest in builder.nests]
    builder.nests = [nest_edits.renamed(nest, tensor, part.tensor) for nest in builder.nests]
    for value, view in builder.views.items():
        if view.tensor == tensor:
            moved = View(part.tensor, view.shape, view.element, (*view.steps, *steps), whole=False)
            builder.views[value] = moved


def _spread(
    builder: KernelBuilder, first: int, own: set[int], loops: Sequence[Loop], extents: list[Size]
) -> None:
    """The loops around the nests from `first` on, and `own` tensors once for each turn."""
    numbers = [loop.number for loop in loops]
    builder.nests[first:] = [
        nest_edits.beside(nest, numbers, extents, own) for nest in builder.nests[first:]
    ]
    for number in own:
        tensor = builder.tensors[number]
        shape = (*extents, *tensor.shape)
        builder.tensors[number] = msgspec.structs.replace(tensor, shape=shape)


READERS: dict[str, Reader] = {
    "scf.forall": read_forall,
    "scf.forall.in_parallel": read_in_parallel,
    "tensor.parallel_insert_slice": read_parallel_insert,
}
