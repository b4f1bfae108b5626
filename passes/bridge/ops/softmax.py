"""`linalg.softmax`: three passes over every row."""

from __future__ import annotations

from functools import partial

from iree.compiler import ir

from xpu_shark.passes.bridge.indexing import identity
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader, element_of
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.workload import Access, Dim, Tensor, Work


def read_softmax(builder: KernelBuilder, op: ir.Operation) -> None:
    """The row's maximum; exponentials of the distance to it and their sum; the quotients.

    The exponentials stay on chip for the last pass: 5 operations an element in all.
    """
    source, target = op.operands
    result = op.results[0] if len(op.results) else target
    shape, element, dim = (
        builder.shape(source),
        element_of(result),
        op.attributes["dimension"].value,
    )
    here = identity(len(shape))
    row = here[:dim] + here[dim + 1 :]
    short = shape[:dim] + shape[dim + 1 :]
    whole, along_row = (_dims(shape, None), _dims(shape, dim))
    local = partial(Tensor, element=element, storage="local")
    top, total = (Access(tensor=builder.add(local(shape=short)), map=row) for _ in range(2))
    powers = Access(tensor=builder.add(local(shape=shape)), map=here)
    work = {kind: Work(kind=kind, element=element) for kind in ("max", "add", "exp")}
    twice = Work(kind="add", element=element, count=2)
    builder.emit(
        op, along_row, (builder.read(source, here),), (top,), (work["max"],), name="softmax.max"
    )
    builder.emit(
        op,
        along_row,
        (builder.read(source, here), top),
        (powers, total),
        (twice, work["exp"]),
        name="softmax.exp_sum",
    )
    out = builder.write(result, here)
    by_row = dim if dim == len(shape) - 1 else None
    divide = Work(kind="div", element=element, by_loops=by_row)
    builder.emit(op, whole, (powers, total), (out,), (divide,), name="softmax.divide")


def _dims(shape: tuple[Size, ...], reduced: int | None) -> tuple[Dim, ...]:
    return tuple(
        Dim(extent=size, kind="reduction" if place == reduced else "parallel")
        for place, size in enumerate(shape)
    )


READERS: dict[str, Reader] = {"linalg.softmax": read_softmax}
