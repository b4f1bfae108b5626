"""Loops and branches inside a dispatch: their nests are repeated, not unrolled.

Inside a loop the counter stands at its first value, so that a tile cut off at the edge counts as
a full one. Where only a run can tell how often a body runs, its nests are repeated
`<kernel>.trip` times, a symbol to bind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iree.compiler import ir

from xpu_shark.passes.bridge.body_work import scalar_work
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader, is_shaped
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import apply, product, symbols


def read_for(builder: KernelBuilder, op: ir.Operation) -> None:
    lower, upper, step, *inits = op.operands
    (block,) = op.regions[0].blocks
    counter, *arguments = block.arguments
    trips = _trips(builder, op, (lower, upper, step))
    builder.sizes.bind(counter, builder.sizes.read(lower))
    builder.counters.add(counter)
    carry(builder, arguments, inits)
    _turns(builder, op, block, trips)
    _yield(builder, op, block, arguments)


def read_while(builder: KernelBuilder, op: ir.Operation) -> None:
    before, after = (region.blocks[0] for region in op.regions)
    trips = builder.trip_symbol(op)
    carry(builder, before.arguments, op.operands)
    _turns(builder, op, before, trips)
    *_, condition = before.operations
    passed = list(condition.operation.operands)[1:]
    name_values(builder, after.arguments, passed)
    _turns(builder, op, after, trips)
    *_, last = after.operations
    turned = dict(zip(before.arguments, last.operation.operands, strict=True))
    # A loop that is entered ends with what its last turn made.
    name_values(builder, op.results, [turned.get(value, value) for value in passed])


def read_if(builder: KernelBuilder, op: ir.Operation) -> None:
    """Each arm as often as it is taken; what follows works on the first arm's results."""
    taken = builder.sizes.read(op.operands[0])
    if any(map(builder.is_data, symbols(taken))):
        taken = builder.trip_symbol(op)
    arms = zip(op.regions, (taken, apply("sub", 1, taken)), strict=True)
    for region, trips in reversed(list(arms)):
        if len(region.blocks) and trips != 0:
            builder.body(region.blocks[0], trips)
            *_, last = region.blocks[0].operations
            name_values(builder, op.results, last.operation.operands)


def read_execute_region(builder: KernelBuilder, op: ir.Operation) -> None:
    (block,) = op.regions[0].blocks
    builder.body(block)
    *_, last = block.operations
    name_values(builder, op.results, last.operation.operands)


def _trips(builder: KernelBuilder, op: ir.Operation, bounds: Sequence[ir.Value]) -> Size:
    first, end, stride = map(builder.sizes.read, bounds)
    trips = apply("ceildiv", apply("sub", end, first), stride)
    return builder.trip_symbol(op) if any(map(builder.is_data, symbols(trips))) else trips


def _turns(builder: KernelBuilder, op: ir.Operation, block: ir.Block, trips: Size) -> None:
    """The body's nests, and one for what it computes on single numbers between them.

    A store of single elements brings its block's work along itself (`ops/elements.py`).
    """
    builder.body(block, trips)
    stores = any(view.operation.name == "memref.store" for view in block.operations)
    if (work := scalar_work(block)) and not stores:
        outer, builder.trips = builder.trips, product((builder.trips, trips))
        builder.emit(op, (), (), (), work, loops=())
        builder.trips = outer


def carry(
    builder: KernelBuilder,
    arguments: Sequence[ir.BlockArgument],
    inits: Iterable[ir.Value],
    *,
    in_place: bool = False,
) -> None:
    """Carried arrays enter as what they start from; undefined and filled ones live on chip."""
    for argument, init in zip(arguments, inits, strict=True):
        if not is_shaped(argument):
            continue
        view = builder.view(init)
        builder.views[argument] = view
        if view.tensor is None and not (in_place and view.fill is not None):
            builder.local(argument)
        elif view.tensor is None:
            builder.views[argument] = builder.update(init, init)


def _yield(
    builder: KernelBuilder,
    op: ir.Operation,
    block: ir.Block,
    arguments: Sequence[ir.BlockArgument],
) -> None:
    """What a turn yields is what the next one starts from: one array."""
    *_, last = block.operations
    for result, argument, value in zip(op.results, arguments, last.operation.operands, strict=True):
        if not is_shaped(result):
            continue
        carried, made = builder.view(argument), builder.view(value)
        on_chip = carried.tensor is not None and builder.tensors[carried.tensor].storage == "local"
        if on_chip and made.tensor is not None and made.whole and not made.steps:
            assert carried.tensor is not None
            builder.rename(made.tensor, carried.tensor)
        builder.views[result] = builder.view(value)


def name_values(
    builder: KernelBuilder, targets: Iterable[ir.Value], values: Iterable[ir.Value]
) -> None:
    """`targets` are `values`."""
    for target, value in zip(targets, values, strict=False):
        if is_shaped(target):
            builder.views[target] = builder.view(value)


READERS: dict[str, Reader] = {
    "scf.for": read_for,
    "scf.while": read_while,
    "scf.if": read_if,
    "scf.execute_region": read_execute_region,
    **{name: lambda *_: None for name in ("scf.yield", "scf.condition")},
}
