"""Walks the ops of a kernel; what no reader understands is bounded by its bytes."""

from __future__ import annotations

from iree.compiler import ir

from xpu_shark.passes.bridge.errors import Unreadable
from xpu_shark.passes.bridge.indexing import identity
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, is_shaped
from xpu_shark.passes.bridge.ops.registry import READERS

# Questions about an array, and notes about it, that run no code.
QUERIES = frozenset(
    (
        *("tensor.dim", "tensor.rank", "memref.dim", "memref.rank", "memref.dealloc"),
        *("iree_codegen.query_tile_sizes", "iree_codegen.extract_strided_metadata"),
        *("memref.extract_strided_metadata", "gpu.barrier", "iree_codegen.workgroup_count_hint"),
    )
)


def read_block(builder: KernelBuilder, block: ir.Block) -> None:
    """Every op of `block` in order; what goes wrong with one is its problem alone."""
    for view in block.operations:
        read_op(builder, view.operation)


def read_op(builder: KernelBuilder, op: ir.Operation) -> None:
    """One op by its reader. Ops that touch no array cost nothing in a kernel."""
    reader = READERS.get(op.name)
    if reader is None and (op.name in QUERIES or not _touches_arrays(op)):
        return
    before = len(builder.nests)
    try:
        if reader is None:
            raise Unreadable(f"no model of {op.name}")
        reader(builder, op)
    except Exception as error:  # reported as the kernel's reason, with the op's bytes kept
        del builder.nests[before:]
        builder.problems.append(_named(op, error))
        bound_by_bytes(builder, op)


def bound_by_bytes(builder: KernelBuilder, op: ir.Operation) -> None:
    """Nests that read every array operand once and write every array result once.

    A memref operand may be either, so it counts as both.
    """
    for operand in op.operands:
        if is_shaped(operand):
            _touch(builder, op, operand, written=False)
        if isinstance(operand.type, ir.MemRefType):
            _touch(builder, op, operand, written=True)
    for result in op.results:
        if is_shaped(result):
            _touch(builder, op, result, written=True)


def _touch(builder: KernelBuilder, op: ir.Operation, value: ir.Value, *, written: bool) -> None:
    shape = builder.shape(value)
    here = identity(len(shape))
    try:
        read = None if written else builder.read(value, here)
        write = builder.write(value, here) if written else None
    except Unreadable as error:
        builder.lost.append(_named(op, error))
        return
    if read or write:
        builder.move(op, shape, read, write)


def _touches_arrays(op: ir.Operation) -> bool:
    values = (*op.operands, *op.results)
    return any(is_shaped(value) for value in values) or len(op.regions) > 0


def _named(op: ir.Operation, error: Exception) -> str:
    if not isinstance(error, Unreadable):
        return describe_fault(op.name, error)
    return str(error) if op.name in str(error) else f"{op.name}: {error}"


def describe_fault(where: str, error: Exception) -> str:
    """One line for a fault of ours."""
    first, *_ = str(error).splitlines() or ("",)
    return f"internal: {where}: {type(error).__name__}: {first}"
