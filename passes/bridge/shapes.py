"""Extents of tensor and memref values, static or over the kernel's symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from iree.compiler import ir

from xpu_shark.passes.bridge.sizes import Size, SizeReader
from xpu_shark.simulator.symbolic import apply, product, symbol

ShapeOf = Callable[[ir.Value], tuple[Size, ...]]
_ARRAY = ir.RankedTensorType | ir.MemRefType
Reader = Callable[[ir.OpResult, SizeReader, ShapeOf], tuple[Size, ...]]


def shape(value: ir.Value, sizes: SizeReader, shape_of: ShapeOf) -> tuple[Size, ...]:
    """Extents of `value`; `shape_of` gives those of the values it comes from."""
    type_ = value.type
    if type_.has_static_shape:
        return tuple(type_.shape)
    if isinstance(value, ir.BlockArgument):
        return _of_argument(value)
    read = READERS.get(value.owner.operation.name, _of_destination)
    return read(value, sizes, shape_of)


def destinations(op: ir.Operation) -> list[ir.Value]:
    """The `outs` operands of an op in destination style: its last arrays, one a result.

    An op on memrefs has no results: the segment sizes of a structured op tell, half of the
    operands are outs for `linalg.reduce`, and anything else has one.
    """
    arrays = [operand for operand in op.operands if isinstance(operand.type, _ARRAY)]
    count = len(op.results)
    if not count and "operandSegmentSizes" in op.attributes and op.name.startswith("linalg."):
        count = op.attributes["operandSegmentSizes"][1]
    elif not count:
        count = len(arrays) // 2 if op.name == "linalg.reduce" else 1
    return arrays[-count:]


def _of_argument(value: ir.BlockArgument) -> tuple[Size, ...]:
    """Dynamic extents of a function's argument are symbols `arg<number>.<dimension>`."""
    return tuple(
        symbol(f"arg{value.arg_number}.{dim}") if value.type.is_dynamic_dim(dim) else size
        for dim, size in enumerate(value.type.shape)
    )


def _of_destination(value: ir.OpResult, sizes: SizeReader, shape_of: ShapeOf) -> tuple[Size, ...]:
    op = value.owner.operation
    outs = destinations(op)
    same = len(outs) == len(op.results) and outs[value.result_number]
    if same and same.type == value.type:
        return shape_of(same)
    return tuple(
        sizes.fresh(f"{op.name}.{dim}") if value.type.is_dynamic_dim(dim) else size
        for dim, size in enumerate(value.type.shape)
    )


def _filled(
    type_: ir.ShapedType, dynamic: Iterator[ir.Value], sizes: SizeReader
) -> tuple[Size, ...]:
    return tuple(
        sizes.read(next(dynamic)) if type_.is_dynamic_dim(dim) else size
        for dim, size in enumerate(type_.shape)
    )


def _of_operands(value: ir.OpResult, sizes: SizeReader, _: ShapeOf) -> tuple[Size, ...]:
    """Dynamic extents are the op's index operands, in order."""
    indices = (v for v in value.owner.operation.operands if isinstance(v.type, ir.IndexType))
    return _filled(value.type, indices, sizes)


def _of_subspan(value: ir.OpResult, sizes: SizeReader, _: ShapeOf) -> tuple[Size, ...]:
    return _filled(value.type, iter(value.owner.operation.opview.dynamic_dims), sizes)


def _of_source(value: ir.OpResult, sizes: SizeReader, shape_of: ShapeOf) -> tuple[Size, ...]:
    known = shape_of(value.owner.operation.operands[0])
    return tuple(
        known[dim] if value.type.is_dynamic_dim(dim) else size
        for dim, size in enumerate(value.type.shape)
    )


def _of_output_shape(value: ir.OpResult, sizes: SizeReader, _: ShapeOf) -> tuple[Size, ...]:
    op = value.owner.operation
    return sizes.mixed(op.attributes["static_output_shape"], list(op.operands)[1:])


def _of_collapse(value: ir.OpResult, _: SizeReader, shape_of: ShapeOf) -> tuple[Size, ...]:
    source = shape_of(value.owner.operation.operands[0])
    groups = value.owner.operation.attributes["reassociation"]
    return tuple(product(tuple(source[dim.value] for dim in group)) for group in groups)


def _of_slice(value: ir.OpResult, sizes: SizeReader, _: ShapeOf) -> tuple[Size, ...]:
    all_sizes = sizes.mixed(
        value.owner.operation.attributes["static_sizes"], value.owner.operation.opview.sizes
    )
    kept = kept_dims(value.owner.operation.attributes["static_sizes"], value.type.shape)
    return tuple(size for size, keep in zip(all_sizes, kept, strict=True) if keep)


def _of_pad(value: ir.OpResult, sizes: SizeReader, shape_of: ShapeOf) -> tuple[Size, ...]:
    op = value.owner.operation
    low = sizes.mixed(op.attributes["static_low"], op.opview.low)
    high = sizes.mixed(op.attributes["static_high"], op.opview.high)
    source = shape_of(op.operands[0])
    return tuple(
        apply("add", apply("add", size, before), after)
        for before, size, after in zip(low, source, high, strict=True)
    )


def _of_concat(value: ir.OpResult, _: SizeReader, shape_of: ShapeOf) -> tuple[Size, ...]:
    dim = value.owner.operation.attributes["dim"].value
    first, *rest = (shape_of(operand) for operand in value.owner.operation.operands)
    total = first[dim]
    for other in rest:
        total = apply("add", total, other[dim])
    return (*first[:dim], total, *first[dim + 1 :])


def _of_insert(value: ir.OpResult, _: SizeReader, shape_of: ShapeOf) -> tuple[Size, ...]:
    return shape_of(value.owner.operation.operands[1])


def _of_loop(value: ir.OpResult, _: SizeReader, shape_of: ShapeOf) -> tuple[Size, ...]:
    op = value.owner.operation
    return shape_of(list(op.operands)[len(op.operands) - len(op.results) + value.result_number])


def kept_dims(sizes: Sequence[int], result: Sequence[int]) -> tuple[bool, ...]:
    """Which dimensions of a slice of static `sizes` a rank-reduced `result` shape keeps.

    Only unit dimensions are dropped; which one of several is all the same.
    """
    kept, position = [], len(result) - 1
    for size in reversed(sizes):
        keep = position >= 0 and size == result[position]
        kept.append(keep)
        position -= keep
    return tuple(reversed(kept))


READERS: dict[str, Reader] = {
    "tensor.empty": _of_operands,
    "tensor.splat": _of_operands,
    "tensor.generate": _of_operands,
    "memref.alloc": _of_operands,
    "memref.alloca": _of_operands,
    "hal.interface.binding.subspan": _of_subspan,
    "iree_codegen.load_from_buffer": _of_source,
    "tensor.cast": _of_source,
    "tensor.bitcast": _of_source,
    "memref.cast": _of_source,
    "memref.assume_alignment": _of_source,
    "memref.memory_space_cast": _of_source,
    "amdgpu.fat_raw_buffer_cast": _of_source,
    "tensor.expand_shape": _of_output_shape,
    "memref.expand_shape": _of_output_shape,
    "tensor.collapse_shape": _of_collapse,
    "memref.collapse_shape": _of_collapse,
    "tensor.extract_slice": _of_slice,
    "memref.subview": _of_slice,
    "iree_tensor_ext.dispatch.tensor.load": _of_slice,
    "tensor.insert_slice": _of_insert,
    "tensor.insert": _of_insert,
    "tensor.pad": _of_pad,
    "tensor.concat": _of_concat,
    "scf.for": _of_loop,
    "scf.forall": _of_loop,
    "scf.while": _of_loop,
}
