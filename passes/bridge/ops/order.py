"""Ops that put elements in order or select among them: sort, top-k, arg-compare, scan."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from xpu_shark.passes.bridge.indexing import identity
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader, is_shaped
from xpu_shark.passes.bridge.ops.structured import count
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import apply, product
from xpu_shark.simulator.workload import Access, Dim, Work


def read_sort(builder: KernelBuilder, op: ir.Operation) -> None:
    """n log2 n runs of the comparator for every row of n, the bound of a comparison sort."""
    arrays = list(op.operands)
    shape, dim = builder.shape(arrays[0]), op.attributes["dimension"].value
    here = identity(len(shape))
    reads = [builder.read(array, here) for array in arrays]
    writes = [builder.write(target, here) for target in list(op.results) or arrays]
    _emit_along(builder, op, shape, dim, reads, writes, log2_ceil(shape[dim]), whole=True)


def read_topk(builder: KernelBuilder, op: ir.Operation) -> None:
    """n log2(k + 1) runs of the comparator for every row of n: a heap of the best k."""
    outs = len(op.results) or 2
    arrays = [operand for operand in op.operands if is_shaped(operand)]
    inputs, targets = arrays[:-outs], list(op.results) or arrays[-outs:]
    shape, dim = builder.shape(inputs[0]), op.attributes["dimension"].value
    kept = builder.shape(targets[0])[dim]
    # Reading and writing both walk the row: the outputs' rows are shorter and end at k.
    here = identity(len(shape))
    reads = [builder.read(array, here) for array in inputs]
    writes = [builder.write(target, here) for target in targets]
    _emit_along(builder, op, shape, dim, reads, writes, log2_ceil(apply("add", kept, 1)))


def read_arg_compare(builder: KernelBuilder, op: ir.Operation) -> None:
    """One run of the comparator an element, and the better value and its index kept."""
    outs = len(op.results) or 2
    arrays = [operand for operand in op.operands if is_shaped(operand)]
    inputs, targets = arrays[:-outs], list(op.results) or arrays[-outs:]
    shape, dim = builder.shape(inputs[0]), op.attributes["dimension"].value
    here = identity(len(shape))
    without = here[:dim] + here[dim + 1 :]
    reads = [builder.read(array, here) for array in inputs]
    writes = [builder.write(target, without) for target in targets]
    keep = [
        Work(kind="select", element=str(target.type.element_type), count=1) for target in targets
    ]
    work = (*count(op.regions[0].blocks[0]), *keep)
    builder.emit(op, _dims(shape, dim), reads, writes, work)


def read_scan(builder: KernelBuilder, op: ir.Operation) -> None:
    """One run of the body an element; the running value is the second output."""
    source, *_ = op.operands
    targets = list(op.results) or list(op.operands)[1:]
    shape, dim = builder.shape(source), op.attributes["dimension"].value
    here = identity(len(shape))
    without = here[:dim] + here[dim + 1 :]
    carried = builder.read(list(op.operands)[2], without) if _has_start(builder, op) else None
    reads = (builder.read(source, here), carried)
    writes = (builder.write(targets[0], here), builder.write(targets[1], without))
    builder.emit(op, _dims(shape, dim), reads, writes, count(op.regions[0].blocks[0]))


def log2_ceil(size: Size) -> Size:
    """The number of halvings until one is left: powers of two below `size`, also symbolically."""
    if isinstance(size, int):
        return (size - 1).bit_length() if size > 1 else 0
    total: Size = 0
    for power in range(40):
        below = apply("max", apply("sub", size, 1 << power), 0)
        total = apply("add", apply("min", below, 1), total)
    return total


def _has_start(builder: KernelBuilder, op: ir.Operation) -> bool:
    """Whether the running value starts from an array in memory rather than a constant."""
    start = list(op.operands)[2]
    return start in builder.buffers or builder.view(start).tensor is not None


def _emit_along(
    builder: KernelBuilder,
    op: ir.Operation,
    shape: Sequence[Size],
    dim: int,
    reads: Sequence[Access | None],
    writes: Sequence[Access],
    times: Size,
    *,
    whole: bool = False,
) -> None:
    """A nest whose body runs `times` for every element."""
    work = count(op.regions[0].blocks[0])
    if isinstance(times, int):
        work = tuple(Work(kind=w.kind, element=w.element, count=w.count * times) for w in work)
        builder.emit(op, _dims(shape, dim), reads, writes, work if times else (), whole=whole)
        return
    points = apply("mul", product(tuple(shape)), times)
    builder.emit(op, _dims(shape, dim), reads, writes, work, points=points, whole=whole)


def _dims(shape: Sequence[Size], dim: int) -> tuple[Dim, ...]:
    """Rows are independent; along `dim` one element depends on the others."""
    return tuple(
        Dim(extent=size, kind="reduction" if place == dim else "parallel")
        for place, size in enumerate(shape)
    )


READERS: dict[str, Reader] = {
    "iree_linalg_ext.sort": read_sort,
    "iree_linalg_ext.topk": read_topk,
    "iree_linalg_ext.topk_v2": read_topk,
    "iree_linalg_ext.arg_compare": read_arg_compare,
    "iree_linalg_ext.scan": read_scan,
}
