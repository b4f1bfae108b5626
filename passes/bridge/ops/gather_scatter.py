"""Rows picked from, or put into, a table at positions that are data."""

from __future__ import annotations

from iree.compiler import ir

from xpu_shark.passes.bridge.indexing import Position, along, identity
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader
from xpu_shark.passes.bridge.ops.structured import count
from xpu_shark.simulator.workload import Access, Dim, Index


def read_gather(builder: KernelBuilder, op: ir.Operation) -> None:
    """`gather`: a loop for every dimension of the output; no arithmetic."""
    source, indices, target = op.operands
    result = op.results[0] if len(op.results) else target
    shape = builder.shape(result)
    reads = (
        builder.read(source, _rows(builder, op, source, len(shape))),
        builder.read(indices, _index_position(builder, op, source, indices, len(shape))),
    )
    dims = (Dim(extent=size, kind="parallel") for size in shape)
    builder.emit(op, dims, reads, (builder.write(result, identity(len(shape))),))


def read_scatter(builder: KernelBuilder, op: ir.Operation) -> None:
    """`scatter`: a loop for every dimension of the updates; the table is changed in place.

    The old elements are read where the body combines them with the update.
    """
    updates, indices, target = op.operands
    shape, block = builder.shape(updates), op.regions[0].blocks[0]
    reads = [
        builder.read(updates, identity(len(shape))),
        builder.read(indices, _index_position(builder, op, target, indices, len(shape))),
    ]
    result = op.results[0] if len(op.results) else target
    view = builder.update(result, target) if len(op.results) else builder.view(target)
    assert view.tensor is not None
    rows = Access(tensor=view.tensor, map=view.position(_rows(builder, op, target, len(shape))))
    combines = next(iter(block.arguments[1].uses), None) is not None
    reads += [rows] if combines else []
    # Two updates may meet in one row, so their order along the batch counts.
    dims = (Dim(extent=size, kind="parallel") for size in shape)
    builder.emit(op, dims, reads, (rows,), count(block))


def _rows(builder: KernelBuilder, op: ir.Operation, table: ir.Value, rank: int) -> Position:
    """Position in the table: leading dimensions by index, the others by the last loops."""
    depth = len(op.attributes["dimension_map"])
    table_rank = len(builder.shape(table))
    batch = rank - (table_rank - depth)
    picked = Index(terms=tuple((dim, 1) for dim in range(batch)), indirect=True)
    return (*[picked] * depth, *along(*range(batch, rank)))


def _index_position(
    builder: KernelBuilder, op: ir.Operation, table: ir.Value, indices: ir.Value, rank: int
) -> Position:
    """Position in the indices: the batch loops; a last dimension holds one index a table dim."""
    depth = len(op.attributes["dimension_map"])
    batch = rank - (len(builder.shape(table)) - depth)
    extra = len(builder.shape(indices)) - batch
    return (*along(*range(batch)), *along(*[None] * extra))


READERS: dict[str, Reader] = {
    "iree_linalg_ext.gather": read_gather,
    "iree_linalg_ext.scatter": read_scatter,
}
