"""Single elements of memrefs read and written in plain loops: the loops become the nest's dims."""

from __future__ import annotations

from iree.compiler import ir

from xpu_shark.passes.bridge.indexing import Position, along, from_ssa
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader
from xpu_shark.passes.bridge.ops.structured import count
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import apply
from xpu_shark.simulator.workload import Access, Dim, Work


def read_store(builder: KernelBuilder, op: ir.Operation) -> None:
    """One nest over the enclosing `scf.for` loops, with what its block loads and computes.

    Only the first store of a block carries the block's loads and work; the others just write.
    """
    _, target, *indices = op.operands
    loops = _enclosing(op)
    counters = {loop.regions[0].blocks[0].arguments[0]: loop for loop in loops}
    known = {counter: along(dim)[0] for dim, counter in enumerate(counters)}
    dims = [Dim(extent=_trips(builder, loop), kind="parallel") for loop in loops]
    write = builder.write(target, tuple(from_ssa(index, known) for index in indices))
    reads: list[Access | None] = []
    work: tuple[Work, ...] = ()
    if _is_first(op):
        work = tuple(item for item in count(op.block) if item.kind != "index")
        for load in (view.operation for view in op.block.operations):
            if load.name == "memref.load":
                source, *places = load.operands
                position: Position = tuple(from_ssa(place, known) for place in places)
                reads.append(builder.read(source, position))
    outer, builder.trips = builder.trips, 1
    builder.emit(op, dims, reads, (write,), work, loops=())
    builder.trips = outer


def _enclosing(op: ir.Operation) -> list[ir.Operation]:
    """The `scf.for` loops around `op`, outermost first."""
    loops, parent = [], op.parent
    while parent is not None and parent.operation.name == "scf.for":
        loops.append(parent.operation)
        parent = parent.operation.parent
    return loops[::-1]


def _trips(builder: KernelBuilder, loop: ir.Operation) -> Size:
    lower, upper, step, *_ = (builder.sizes.read(value) for value in list(loop.operands)[:3])
    return apply("ceildiv", apply("sub", upper, lower), step)


def _is_first(op: ir.Operation) -> bool:
    stores = (view.operation for view in op.block.operations if view.operation.name == op.name)
    return bool(next(stores) == op)


READERS: dict[str, Reader] = {
    "memref.store": read_store,
    "memref.load": lambda *_: None,
}
