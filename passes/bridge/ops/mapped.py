"""Ops of other dialects with indexing maps whose body is only partly written out."""

from __future__ import annotations

from iree.compiler import ir

from xpu_shark.passes.bridge.body_work import KINDS
from xpu_shark.passes.bridge.indexing import identity, positions
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader, element_of, is_shaped
from xpu_shark.passes.bridge.ops.structured import (
    count,
    indexing_maps,
    loop_dims,
    read_inputs,
    read_previous,
    take_apart,
    write_outputs,
)
from xpu_shark.simulator.workload import Dim, Work


def read_quantize(builder: KernelBuilder, op: ir.Operation) -> None:
    """round(x / scale) + zero point, clamped to the type and converted."""
    element = element_of(op.operands[0])
    _read_quantization(
        builder, op, element, {"div": 1, "round": 1, "add": 1, "max": 2, "convert": 1}
    )


def read_dequantize(builder: KernelBuilder, op: ir.Operation) -> None:
    """(q - zero point) x scale, after conversion."""
    element = element_of(list(op.operands)[-1])
    _read_quantization(builder, op, element, {"convert": 1, "add": 1, "mul": 1})


def _read_quantization(
    builder: KernelBuilder, op: ir.Operation, element: str, kinds: dict[str, int]
) -> None:
    *inputs, target = op.operands
    maps = indexing_maps(op) or ()
    places = [positions(map_) for map_ in maps]
    dims = loop_dims(builder, maps[0].n_dims, [*inputs, target], places, 1)
    reads = [
        builder.read(value, place)
        for value, place in zip(inputs, places, strict=False)
        if is_shaped(value)
    ]
    result = op.results[0] if len(op.results) else target
    work = (Work(kind=kind, element=element, count=times) for kind, times in kinds.items())
    builder.emit(op, dims, reads, (builder.write(result, places[-1]),), work)


def read_exp_reduction(builder: KernelBuilder, op: ir.Operation) -> None:
    """A running maximum and sums of exponentials of the distance to it, in one pass.

    Beside its body an element costs the maximum, the distance and its exponential; the sums'
    correction for a new maximum is once a chunk, not once an element.
    """
    parts = take_apart(builder, op)
    reads, _ = read_inputs(builder, parts)
    reads += read_previous(builder, parts)
    element = element_of(parts.operands[parts.outputs[0]])
    extra = (Work(kind=kind, element=element) for kind in ("max", "add", "exp"))
    work = (*count(parts.block), *extra)
    builder.emit(op, parts.dims, reads, write_outputs(builder, parts), work)


def read_custom(builder: KernelBuilder, op: ir.Operation) -> None:
    """`custom_op`: its body is read as if it stood in the function, on whole operands."""
    (block,) = op.regions[0].blocks
    for argument, operand in zip(block.arguments, op.operands, strict=True):
        if is_shaped(operand):
            builder.views[argument] = builder.view(operand)
    builder.body(block)
    *_, last = block.operations
    for result, value in zip(op.results, last.operation.operands, strict=True):
        builder.views[result] = builder.view(value)


def read_elementwise(builder: KernelBuilder, op: ir.Operation) -> None:
    """An `arith`, `math` or `complex` op on whole arrays; on scalars it costs nothing here."""
    result = op.results[0]
    if not isinstance(result.type, ir.RankedTensorType):
        return
    shape = builder.shape(result)
    here = identity(len(shape))
    compared = "compare" in KINDS[op.name]
    element = element_of(op.operands[0] if compared else result)
    reads = [builder.read(operand, here) for operand in op.operands if is_shaped(operand)]
    work = (Work(kind=kind, element=element, count=n) for kind, n in KINDS[op.name].items())
    dims = (Dim(extent=size, kind="parallel") for size in shape)
    builder.emit(op, dims, reads, (builder.write(result, here),), work)


READERS: dict[str, Reader] = {
    **{name: read_elementwise for name in KINDS if not name.startswith("affine.")},
    "iree_linalg_ext.quantize_affine": read_quantize,
    "iree_linalg_ext.dequantize_affine": read_dequantize,
    "iree_linalg_ext.exp_reduction": read_exp_reduction,
    "iree_linalg_ext.custom_op": read_custom,
    "iree_linalg_ext.yield": lambda *_: None,
}
