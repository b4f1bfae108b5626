"""Tensor ops that move elements without computing on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir

from xpu_shark.passes.bridge.body_work import body_ops
from xpu_shark.passes.bridge.indexing import (
    HERE,
    Position,
    added,
    along,
    combined,
    from_ssa,
    identity,
    scaled,
    sliced,
)
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader
from xpu_shark.passes.bridge.ops.structured import count, gathers
from xpu_shark.passes.bridge.shapes import kept_dims
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.passes.bridge.split_loops import Split, split_loops
from xpu_shark.passes.bridge.tile_sizes import read_tiles
from xpu_shark.simulator.workload import Access, Dim


def read_insert_slice(builder: KernelBuilder, op: ir.Operation) -> None:
    """The source is copied into a part of the destination, which is changed in place."""
    source, target = op.operands[0], op.operands[1]
    result = op.results[0] if len(op.results) else target
    strides = builder.sizes.mixed(op.attributes["static_strides"], op.opview.strides)
    offsets = builder.grid.offsets(
        op.attributes["static_offsets"], op.opview.offsets, builder.sizes
    )
    kept = kept_dims(op.attributes["static_sizes"], source.type.shape)
    here = identity(len(builder.shape(source)))
    read = builder.read(source, here)
    view = builder.update(result, target)
    if read is None:
        return
    assert view.tensor is not None
    write = Access(tensor=view.tensor, map=view.position(sliced(strides, kept, offsets)(here)))
    builder.move(op, builder.shape(source), read, write)


def read_insert(builder: KernelBuilder, op: ir.Operation) -> None:
    """One element is written."""
    view = builder.update(op.results[0], op.operands[1])
    assert view.tensor is not None
    place = view.position(tuple(HERE for _ in view.shape))
    builder.move(op, (), None, Access(tensor=view.tensor, map=place))


def read_extract(builder: KernelBuilder, op: ir.Operation) -> None:
    """One element is read."""
    source = op.operands[0]
    builder.read_once(source, tuple(HERE for _ in builder.shape(source)))


def read_pad(builder: KernelBuilder, op: ir.Operation) -> None:
    """The source and its border are written; reading stops at the source's own extents."""
    source, result = op.operands[0], op.results[0]
    shape = builder.shape(result)
    here = identity(len(shape))
    builder.move(op, shape, builder.read(source, here), builder.write(result, here))


def read_concat(builder: KernelBuilder, op: ir.Operation) -> None:
    tensor = builder.local(op.results[0])
    for operand in op.operands:
        shape = builder.shape(operand)
        here = identity(len(shape))
        builder.move(op, shape, builder.read(operand, here), Access(tensor=tensor, map=here))


def read_scalars(builder: KernelBuilder, op: ir.Operation) -> None:
    """A splat, or a few scalars as an array: kept in registers until it goes to memory."""
    builder.blank(op.results[0], fill=op)


def read_generate(builder: KernelBuilder, op: ir.Operation) -> None:
    """An array computed element by element from its position."""
    result = op.results[0]
    shape, block = builder.shape(result), op.regions[0].blocks[0]
    known = dict(zip(block.arguments, identity(len(shape)), strict=True))
    dims = (Dim(extent=size, kind="parallel") for size in shape)
    reads = gathers(builder, block, known)
    work = count(block)
    builder.emit(op, dims, reads, (builder.write(result, identity(len(shape))),), work)


def read_pack(builder: KernelBuilder, op: ir.Operation) -> None:
    """`linalg.pack`: one loop for every dimension of the packed array."""
    source, target = op.operands[0], op.operands[1]
    result = op.results[0] if len(op.results) else target
    shape = builder.shape(result)
    read = builder.read(source, _unpacked(builder, op, len(builder.shape(source))))
    builder.move(op, shape, read, builder.write(result, identity(len(shape))))


def read_unpack(builder: KernelBuilder, op: ir.Operation) -> None:
    """`linalg.unpack`: one loop for every dimension of the packed array."""
    source, target = op.operands[0], op.operands[1]
    result = op.results[0] if len(op.results) else target
    shape = builder.shape(source)
    read = builder.read(source, identity(len(shape)))
    write = builder.write(result, _unpacked(builder, op, len(builder.shape(result))))
    builder.move(op, shape, read, write)


def _unpacked(builder: KernelBuilder, op: ir.Operation, rank: int) -> Position:
    """Position in the plain array, over the packed array's dimensions: outer x tile + inner."""
    tiles = builder.sizes.mixed(op.attributes["static_inner_tiles"], op.opview.inner_tiles)
    places = list(op.attributes["inner_dims_pos"])
    order: Sequence[int] = range(rank)
    if "outer_dims_perm" in op.attributes:
        order = list(op.attributes["outer_dims_perm"]) or order
    outer = {dim: along(place)[0] for place, dim in enumerate(order)}
    inner = {dim: (along(rank + number)[0], tiles[number]) for number, dim in enumerate(places)}
    return tuple(
        added(scaled(outer[dim], inner[dim][1]), inner[dim][0]) if dim in inner else outer[dim]
        for dim in range(rank)
    )


def read_map_store(builder: KernelBuilder, op: ir.Operation) -> None:
    """`map_store`: every input element goes where the body says."""
    source, target = op.operands[0], op.operands[1]
    mapped = _mapped(op, builder.shape(source))
    read = builder.read(source, mapped.here)
    result = op.results[0] if len(op.results) else target
    mapped.emit(builder, read, _into(builder, result, target, mapped.there))


def read_map_load(builder: KernelBuilder, op: ir.Operation) -> None:
    """`map_load`: every output element comes from where the body says."""
    source, target = op.operands[0], op.operands[1]
    result = op.results[0] if len(op.results) else target
    mapped = _mapped(op, builder.shape(result))
    read = builder.read(source, mapped.there)
    mapped.emit(builder, read, builder.write(result, mapped.here))


def _into(builder: KernelBuilder, result: ir.Value, target: ir.Value, places: Position) -> Access:
    if isinstance(result.type, ir.MemRefType):
        return builder.write(result, places)
    view = builder.update(result, target)
    assert view.tensor is not None
    return Access(tensor=view.tensor, map=view.position(places))


@dataclass(frozen=True)
class _Mapped:
    """A nest over the array that a body's arguments count (`here`); `there` is what it yields."""

    op: ir.Operation
    dims: tuple[Dim, ...]
    here: Position
    there: Position
    split: Split | None

    def emit(self, builder: KernelBuilder, read: Access | None, write: Access) -> None:
        if self.split is None:
            builder.emit(self.op, self.dims, (read,), (write,))
            return
        tiles = self.split.tiles(read_tiles(self.op, range(len(self.split.parts))))
        points = self.split.points
        builder.emit(self.op, self.dims, (read,), (write,), points=points, tiles=tiles)


def _mapped(op: ir.Operation, shape: Sequence[Size]) -> _Mapped:
    """The body yields positions; its last value is a mask or a padding."""
    block = op.regions[0].blocks[0]
    counters, here = list(block.arguments), identity(len(shape))
    dims = tuple(Dim(extent=size, kind="parallel") for size in shape)
    known = dict(zip(counters, here, strict=True))
    split = split_loops(body_ops(block), dims, counters)
    if split is not None:
        dims, here, known = split.dims, split.position(here), dict(split.known)
    *_, last = block.operations
    there = tuple(from_ssa(value, known) for value in list(last.operation.operands)[:-1])
    return _Mapped(op, dims, here, there, split)


def read_im2col(builder: KernelBuilder, op: ir.Operation) -> None:
    """`im2col`: one loop for every batch, output and window position, and channel."""
    names = ("batch_pos", "m_pos", "k_pos", "strides", "dilations", "input_k_perm")
    batch, m, k, strides, dilations, order = (list(op.attributes[name]) for name in names)
    groups = [list(group) for group in op.attributes["static_output_sizes"]]
    result, source = op.results[0], op.operands[0]
    extents: list[Size] = [size for group in groups for size in group]
    loops = identity(len(extents))
    if len(extents) != len(batch) + 2 * len(m) + len(k) or min(map(int, extents)) < 0:  # type: ignore[arg-type]
        _read_gathered(builder, op)
        return
    inner = {order[n]: loops[len(batch) + len(m) + n] for n in range(len(m) + len(k))}
    place = dict(zip(batch, loops, strict=False))
    for number, dim in enumerate(m):
        place[dim] = added(
            scaled(loops[len(batch) + number], strides[number]),
            scaled(inner[number], dilations[number]),
        )
    place.update({dim: inner[len(m) + number] for number, dim in enumerate(k)})
    read = builder.read(source, tuple(place[dim] for dim in sorted(place)))
    builder.move(op, extents, read, builder.write(result, _grouped(op, groups, loops)))


def _grouped(op: ir.Operation, groups: list[list[int]], loops: Position) -> Position:
    """Position in the output, each of whose dimensions holds one group of loops."""
    remaining = iter(loops)
    places = []
    for group in groups:
        place, own = HERE, [next(remaining) for _ in group]
        for index, size in zip(own, group, strict=True):
            place = added(scaled(place, size), index)
        places.append(place)
    return tuple(places[dim] for dim in op.attributes["output_perm"])


def _read_gathered(builder: KernelBuilder, op: ir.Operation) -> None:
    """An output of unknown composition: every element comes from a run-time position."""
    result, source = op.results[0], op.operands[0]
    shape, rank = builder.shape(result), len(builder.shape(source))
    here = identity(len(shape))
    read = builder.read(source, (combined(*here), *[HERE] * (rank - 1)))
    builder.move(op, shape, read, builder.write(result, here))


READERS: dict[str, Reader] = {
    "tensor.insert_slice": read_insert_slice,
    "tensor.insert": read_insert,
    "tensor.extract": read_extract,
    "tensor.pad": read_pad,
    "tensor.concat": read_concat,
    "tensor.splat": read_scalars,
    "tensor.from_elements": read_scalars,
    "tensor.generate": read_generate,
    "linalg.pack": read_pack,
    "linalg.unpack": read_unpack,
    "iree_linalg_ext.map_store": read_map_store,
    "iree_linalg_ext.map_load": read_map_load,
    "iree_linalg_ext.im2col": read_im2col,
}
