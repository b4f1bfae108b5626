"""Tensor ops that only rename positions: no work, no traffic."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from xpu_shark.passes.bridge.indexing import folded, sliced, split
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader
from xpu_shark.passes.bridge.shapes import kept_dims
from xpu_shark.passes.bridge.views import View


def read_empty(builder: KernelBuilder, op: ir.Operation) -> None:
    builder.blank(op.results[0])


def read_constant(builder: KernelBuilder, op: ir.Operation) -> None:
    """A constant array is part of the program; one that is the same throughout needs no memory."""
    result = op.results[0]
    if not isinstance(result.type, ir.RankedTensorType):
        return
    value = op.attributes["value"]
    if isinstance(value, ir.DenseElementsAttr) and value.is_splat:
        builder.blank(result)
    else:
        builder.local(result)


def read_same(builder: KernelBuilder, op: ir.Operation) -> None:
    """Casts and barriers: results are the operands."""
    for operand, result in zip(op.operands, op.results, strict=False):
        if isinstance(result.type, ir.RankedTensorType):
            builder.views[result] = builder.view(operand)


def read_slice(builder: KernelBuilder, op: ir.Operation) -> None:
    result, static = op.results[0], op.attributes
    strides = builder.sizes.mixed(static["static_strides"], op.opview.strides)
    offsets = builder.grid.offsets(static["static_offsets"], op.opview.offsets, builder.sizes)
    kept = kept_dims(static["static_sizes"], result.type.shape)
    source, shape = builder.view(op.operands[0]), builder.shape(result)
    whole = len(shape) == len(source.shape) and shape == source.shape
    builder.views[result] = source.through(sliced(strides, kept, offsets), shape, whole=whole)


def read_expand(builder: KernelBuilder, op: ir.Operation) -> None:
    shape = builder.shape(op.results[0])
    step = folded(_groups(op), shape)
    builder.views[op.results[0]] = builder.view(op.operands[0]).through(step, shape, whole=True)


def read_collapse(builder: KernelBuilder, op: ir.Operation) -> None:
    source, result = builder.view(op.operands[0]), op.results[0]
    groups, shape = _groups(op), builder.shape(result)
    inner = (source.shape[dim] for group in groups for dim in group[1:])
    if source.tensor is not None and not source.steps and all(isinstance(n, int) for n in inner):
        # Its nests can say where they are in the collapsed array; the reverse is not linear.
        builder.reshape(source.tensor, shape, folded(groups, source.shape))
        builder.views[result] = View(source.tensor, shape, source.element)
        return
    step = split(groups, source.shape)
    builder.views[result] = source.through(step, shape, whole=True)


def _groups(op: ir.Operation) -> list[Sequence[int]]:
    return [[dim.value for dim in group] for group in op.attributes["reassociation"]]


READERS: dict[str, Reader] = {
    "tensor.empty": read_empty,
    "arith.constant": read_constant,
    "tensor.cast": read_same,
    "tensor.bitcast": read_same,
    "util.optimization_barrier": read_same,
    "iree_codegen.fusion_barrier": read_same,
    "iree_tensor_ext.compute_barrier.start": read_same,
    "iree_tensor_ext.compute_barrier.end": read_same,
    "tensor.extract_slice": read_slice,
    "tensor.expand_shape": read_expand,
    "tensor.collapse_shape": read_collapse,
}
