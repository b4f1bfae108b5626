"""Where a dispatch meets memory: bindings, windows into them, loads and stores."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from xpu_shark.passes.bridge.buffers import Buffer, row_major
from xpu_shark.passes.bridge.errors import Unreadable
from xpu_shark.passes.bridge.indexing import identity, sliced
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader, element_of
from xpu_shark.passes.bridge.shapes import kept_dims
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.passes.bridge.views import View
from xpu_shark.simulator.workload import Index


def read_subspan(builder: KernelBuilder, op: ir.Operation) -> None:
    view = op.opview
    offset = view.byte_offset
    root = (view.binding.value, 0 if offset is None else builder.sizes.read(offset))
    result = op.results[0]
    if isinstance(result.type, ir.MemRefType):
        shape = builder.shape(result)
        builder.buffers[result] = Buffer(root, shape, _strides(result, shape), element_of(result))
        return
    held = _held(result.type)
    shape = builder.sizes.mixed(held.shape, view.dynamic_dims)
    builder.buffers[result] = Buffer(root, shape, row_major(shape), str(held.element_type))


def read_alloc(builder: KernelBuilder, op: ir.Operation) -> None:
    """Scratch memory of the kernel: on chip."""
    result = op.results[0]
    shape, root = builder.shape(result), ("alloc", len(builder.buffers))
    builder.buffers[result] = Buffer(root, shape, row_major(shape), element_of(result), local=True)


def read_same_buffer(builder: KernelBuilder, op: ir.Operation) -> None:
    """Casts and assumptions: the result is the first operand."""
    builder.buffers[op.results[0]] = _buffer(builder, op.operands[0])


def read_reshaped_buffer(builder: KernelBuilder, op: ir.Operation) -> None:
    """A memref of another shape over the same elements; dense as its type says."""
    source, result = _buffer(builder, op.operands[0]), op.results[0]
    shape = builder.shape(result)
    builder.buffers[result] = Buffer(
        (source, "reshaped"), shape, _strides(result, shape), source.element, local=source.local
    )


def read_subview(builder: KernelBuilder, op: ir.Operation) -> None:
    builder.buffers[op.results[0]] = _window(builder, op, _buffer(builder, op.operands[0]))


def read_load(builder: KernelBuilder, op: ir.Operation) -> None:
    """`load_from_buffer`: the whole memref as a tensor."""
    _load(builder, op.results[0], _buffer(builder, op.operands[0]))


def read_slice_load(builder: KernelBuilder, op: ir.Operation) -> None:
    """`dispatch.tensor.load`: a window of a binding as a tensor."""
    _load(builder, op.results[0], _window(builder, op, _buffer(builder, op.operands[0])))


def read_store(builder: KernelBuilder, op: ir.Operation) -> None:
    """`store_to_buffer`: a tensor into a whole memref."""
    builder.store(op, op.operands[0], _buffer(builder, op.operands[1]))


def read_slice_store(builder: KernelBuilder, op: ir.Operation) -> None:
    """`dispatch.tensor.store`: a tensor into a window of a binding."""
    value, target = op.operands[0], op.operands[1]
    builder.store(op, value, _part(builder, op, _buffer(builder, target), value.type.shape))


def read_copy(builder: KernelBuilder, op: ir.Operation) -> None:
    """`memref.copy` and `linalg.copy` on memrefs."""
    source, target = op.operands
    here = identity(len(builder.shape(source)))
    builder.move(op, builder.shape(source), builder.read(source, here), builder.write(target, here))


def read_return(builder: KernelBuilder, op: ir.Operation) -> None:
    """Tensors that a function returns are written to memory."""
    for number, value in enumerate(op.operands):
        if isinstance(value.type, ir.RankedTensorType):
            shape = builder.shape(value)
            target = Buffer(("result", number), shape, row_major(shape), element_of(value))
            builder.store(op, value, target)


def read_arguments(builder: KernelBuilder, block: ir.Block) -> None:
    """Tensor and memref arguments of a function are arrays in memory."""
    for number, value in enumerate(block.arguments):
        if isinstance(value.type, ir.RankedTensorType | ir.MemRefType):
            shape = builder.shape(value)
            is_memref = isinstance(value.type, ir.MemRefType)
            strides = _strides(value, shape) if is_memref else row_major(shape)
            buffer = Buffer(("argument", number), shape, strides, element_of(value))
            if is_memref:
                builder.buffers[value] = buffer
            else:
                _load(builder, value, buffer)


def _load(builder: KernelBuilder, value: ir.Value, buffer: Buffer) -> None:
    if builder.turns(buffer):
        builder.views[value] = builder.buffer_view(buffer)
        return
    rows, step = buffer.spanned()
    view = View(builder.buffer_tensor(rows), rows.shape, buffer.element)
    if step > 1:
        strides = [1] * (len(rows.shape) - 1) + [step]
        spread = sliced(strides, [True] * len(strides), [0] * len(strides))
        view = view.through(spread, buffer.shape, whole=False)
    builder.views[value] = view


def _buffer(builder: KernelBuilder, value: ir.Value) -> Buffer:
    if value not in builder.buffers:
        raise Unreadable("a buffer that is no binding, allocation or window of one")
    return builder.buffers[value]


def _window(builder: KernelBuilder, op: ir.Operation, source: Buffer) -> Buffer:
    return _part(builder, op, source, op.results[0].type.shape)


def _part(builder: KernelBuilder, op: ir.Operation, source: Buffer, shape: Sequence[int]) -> Buffer:
    """The window that a slicing op names; `shape`, of its type, tells which dimensions stay."""
    view, static = op.opview, op.attributes
    offsets = builder.sizes.mixed(static["static_offsets"], view.offsets)
    sizes = builder.sizes.mixed(static["static_sizes"], view.sizes)
    strides = builder.sizes.mixed(static["static_strides"], view.strides)
    kept = kept_dims(static["static_sizes"], shape)
    window = source.window(offsets, sizes, strides, kept)
    if not any(map(builder.varies, view.offsets)):
        return window
    # Wherever another loop is, the window has the same size.
    places = builder.grid.offsets(static["static_offsets"], view.offsets, builder.sizes)
    start = [place if isinstance(place, Index) else 0 for place in places]
    return builder.turn(window, source, sliced(strides, kept, start))


def _held(type_: ir.Type) -> ir.RankedTensorType:
    """The tensor in `!iree_tensor_ext.dispatch.tensor<readonly:tensor<4x4xf32>>`."""
    _, _, text = str(type_).partition(":")
    if not text.startswith("tensor<"):
        raise Unreadable(f"binding of type {type_}")
    return ir.RankedTensorType(ir.Type.parse(text[:-1], context=type_.context))


def _strides(value: ir.Value, shape: tuple[Size, ...]) -> tuple[Size | None, ...]:
    """As the memref's type says; a dense type with unknown extents has its shape's."""
    strides, _ = value.type.get_strides_and_offset()
    dense = row_major(shape)
    if str(value.type.layout).startswith("affine_map"):
        return dense
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    return tuple(None if stride == unknown else stride for stride in strides)


READERS: dict[str, Reader] = {
    "hal.interface.binding.subspan": read_subspan,
    "memref.alloc": read_alloc,
    "memref.alloca": read_alloc,
    "memref.assume_alignment": read_same_buffer,
    "memref.cast": read_same_buffer,
    "memref.memory_space_cast": read_same_buffer,
    "amdgpu.fat_raw_buffer_cast": read_same_buffer,
    "memref.expand_shape": read_reshaped_buffer,
    "memref.collapse_shape": read_reshaped_buffer,
    "memref.subview": read_subview,
    "memref.copy": read_copy,
    "iree_codegen.load_from_buffer": read_load,
    "iree_codegen.store_to_buffer": read_store,
    "iree_tensor_ext.dispatch.tensor.load": read_slice_load,
    "iree_tensor_ext.dispatch.tensor.store": read_slice_store,
    "func.return": read_return,
}
