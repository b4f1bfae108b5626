"""A kernel while it is being read: its tensors, its nests, and what each SSA value is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec
from iree.compiler import ir

from xpu_shark.passes.bridge import nest_edits, shapes
from xpu_shark.passes.bridge.buffers import Buffer
from xpu_shark.passes.bridge.errors import Unreadable
from xpu_shark.passes.bridge.grid import Grid
from xpu_shark.passes.bridge.indexing import Position, Step, identity
from xpu_shark.passes.bridge.locations import source_location
from xpu_shark.passes.bridge.sizes import Leaf, Size, SizeReader, is_unknown
from xpu_shark.passes.bridge.tile_sizes import read_tiles
from xpu_shark.passes.bridge.views import View
from xpu_shark.simulator.element_type import bits
from xpu_shark.simulator.symbolic import Expr, product, symbol, symbols
from xpu_shark.simulator.workload import (
    Access,
    Contraction,
    Dim,
    Nest,
    Tensor,
    TileLevel,
    Work,
    trip_name,
)

Shaped = ir.RankedTensorType | ir.MemRefType


class KernelBuilder:
    """Collects one kernel. Readers in `ops/` call `view`, `read`, `write` and `emit`."""

    def __init__(
        self,
        name: str,
        leaves: Mapping[str, Leaf],
        walk: Callable[[KernelBuilder, ir.Block], None],
    ) -> None:
        """`leaves`: sizes that come from outside; `walk` reads the ops of a block."""
        self.name = name
        self._walk = walk
        own: dict[str, Leaf] = {"tensor.dim": self._dim, "memref.dim": self._dim}
        for name in ("tensor.extract", "memref.load"):
            own[name] = lambda _, value: self.trip_symbol(value.owner.operation)
        self.sizes = SizeReader({**leaves, **own})
        self.tensors: list[Tensor] = []
        self.nests: list[Nest] = []
        self.views: dict[ir.Value, View] = {}
        self.buffers: dict[ir.Value, Buffer] = {}
        self.trips: Size = 1
        self.counters: set[ir.Value] = set()  # of the dispatch's own loops
        self.grid = Grid()
        self.online = False
        self.problems: list[str] = []  # work not known, bytes are
        self.lost: list[str] = []  # bytes not known either
        self._stored: dict[Hashable, int] = {}
        self._turning: dict[Buffer, tuple[Buffer, Step]] = {}
        self._pending: list[Access] = []
        self.trip_names: dict[ir.Operation, str] = {}
        self.equal: dict[str, Size] = {}  # symbols of data that are another size as well

    def shape(self, value: ir.Value) -> tuple[Size, ...]:
        """Extents of a tensor or memref value."""
        if value in self.views:
            return self.views[value].shape
        if value in self.buffers:
            return self.buffers[value].shape
        return shapes.shape(value, self.sizes, self.shape)

    def view(self, value: ir.Value) -> View:
        """What `value` is. Raises `Unreadable` where its producer was not understood."""
        if value in self.buffers:
            return self.buffer_view(self.buffers[value])
        if value not in self.views:
            producer = (
                "argument" if isinstance(value, ir.BlockArgument) else value.owner.operation.name
            )
            raise Unreadable(f"operand from {producer}")
        return self.views[value]

    def blank(self, value: ir.Value, fill: ir.Operation | None = None) -> None:
        """`value` is undefined, or the same constant everywhere."""
        self.views[value] = View(None, self.shape(value), element_of(value), fill=fill)

    def local(self, value: ir.Value) -> int:
        """`value` becomes a new tensor on chip; its index."""
        shape, element = self.shape(value), element_of(value)
        tensor = self.add(Tensor(shape=shape, element=element, storage="local"))
        self.views[value] = View(tensor, shape, element)
        return tensor

    def add(self, tensor: Tensor) -> int:
        """Append a tensor; its index. Raises `Unreadable` for elements that are not numbers."""
        try:
            bits(tensor.element)
        except ValueError as error:
            raise Unreadable(str(error)) from error
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def buffer_tensor(self, buffer: Buffer) -> int:
        """The tensor for a window of a buffer: one for every distinct window."""
        if buffer not in self._stored:
            self._stored[buffer] = self.add(
                Tensor(
                    shape=buffer.shape,
                    element=buffer.element,
                    storage="local" if buffer.local else "global",
                    contiguous=buffer.contiguous(),
                    place=buffer.place(),
                )
            )
        return self._stored[buffer]

    def buffer_view(self, buffer: Buffer) -> View:
        """A window of a buffer; one that a loop moves is a part of what it moves over."""
        if buffer in self._turning:
            source, step = self._turning[buffer]
            return self.buffer_view(source).through(step, buffer.shape, whole=False)
        return View(self.buffer_tensor(buffer), buffer.shape, buffer.element)

    def turn(self, window: Buffer, source: Buffer, step: Step) -> Buffer:
        """`window` as one that is elsewhere in `source` in each turn of a loop."""
        moved = replace(window, root=(window.root, "turn", len(self._turning)))
        self._turning[moved] = (source, step)
        return moved

    def turns(self, buffer: Buffer) -> bool:
        """Whether a loop moves the window."""
        return buffer in self._turning

    def varies(self, value: ir.Value) -> bool:
        """Whether `value` is computed from the counter of a loop in the dispatch."""
        if value in self.counters or isinstance(value, ir.BlockArgument):
            return value in self.counters
        return any(map(self.varies, value.owner.operation.operands))

    def read(self, value: ir.Value, position: Position) -> Access | None:
        """Reading `value` at `position`; None where that costs nothing (constant, undefined)."""
        view = self.view(value)
        if view.tensor is None and view.fill is not None:
            view = self._carry_out_fill(value, view)
        if view.tensor is None:
            return None
        return Access(tensor=view.tensor, map=view.position(position))

    def read_once(self, value: ir.Value, position: Position) -> None:
        """A single element read outside any nest; goes with the next nest."""
        access = self.read(value, position)
        self._pending += [access] if access else []

    def write(self, value: ir.Value, position: Position) -> Access:
        """Writing `value`: an op's tensor result, or a memref operand in place."""
        if isinstance(value.type, ir.MemRefType):
            view = self.view(value)
            assert view.tensor is not None
            return Access(tensor=view.tensor, map=view.position(position))
        return Access(tensor=self.local(value), map=position)

    def update(self, result: ir.Value, init: ir.Value) -> View:
        """`result` is `init` changed in place; the tensor to write to, filled if it must be."""
        view = self.view(init)
        if view.tensor is None and view.fill is not None:
            view = self._carry_out_fill(init, view)
        if view.tensor is None:
            self.local(result)
        elif result != init:
            self.views[result] = view
        return self.view(result)

    def emit(
        self,
        op: ir.Operation,
        dims: Iterable[Dim],
        reads: Iterable[Access | None],
        writes: Iterable[Access],
        work: Iterable[Work] = (),
        *,
        name: str = "",
        contraction: Contraction | None = None,
        points: Size | None = None,
        loops: Sequence[int] | None = None,
        tiles: Sequence[TileLevel] | None = None,
        whole: bool = False,
        joint: bool = False,
    ) -> None:
        """Append a nest for `op`; `loops`: which of the op's own loops its dims are (all).

        `tiles` stands in for those of the op's `lowering_config`; `whole`, `joint` as in `Nest`.
        """
        dims = tuple(dims)
        pending, self._pending = self._pending, []
        if tiles is None:
            all_loops = range(len(dims))
            tiles = read_tiles(op, all_loops, dims) if loops is None else read_tiles(op, loops)
        self.nests.append(
            Nest(
                name=name or op.name.rpartition(".")[2],
                dims=dims,
                reads=(*(access for access in reads if access), *pending),
                writes=tuple(writes),
                work=tuple(work),
                contraction=contraction,
                points=points,
                trips=self.trips,
                tiles=tuple(tiles),
                config=str(op.attributes["lowering_config"]) if tiles else "",
                loops=tuple(loops or ()) if tiles else (),
                whole=whole,
                joint=joint,
                location=source_location(op.location),
            )
        )

    def move(
        self, op: ir.Operation, shape: Sequence[Size], read: Access | None, write: Access | None
    ) -> None:
        """Append a nest without work over `shape`: a copy, or one side of it."""
        dims = (Dim(extent=size, kind="parallel") for size in shape)
        self.emit(op, dims, (read,), (write,) if write else ())

    def store(self, op: ir.Operation, value: ir.Value, target: Buffer) -> None:
        """`value` goes to memory: its producers write there, or a copy does."""
        view = self.view(value)
        if view.tensor is None and view.fill is None:
            return
        if view.tensor is not None and self._stored.get(target) == view.tensor and view.whole:
            return  # updated in place
        if self.turns(target):
            self._store_part(op, value, self.buffer_view(target))
            return
        if view.tensor is None or not self.is_product(view) or self._is_carried(view.tensor):
            here = identity(len(view.shape))
            source = self.read(value, here) if view.tensor is not None else None
            write = Access(tensor=self.buffer_tensor(target), map=here)
            self.move(view.fill or op, view.shape, source, write)
            return
        if self._is_used(view.tensor, op) or self._changes_shape(view, target):
            self._write_too(view, target)
        else:
            self._become(view.tensor, target)

    def finish_pending(self, op: ir.Operation) -> None:
        """Give reads that no nest followed a nest of their own."""
        if self._pending:
            self.emit(op, (), (), ())

    def body(self, block: ir.Block, trips: Size = 1) -> None:
        """Read the ops of a nested block, each of its nests repeated `trips` times."""
        outer, self.trips = self.trips, product((self.trips, trips))
        try:
            self._walk(self, block)
        finally:
            self.trips = outer

    def trip_symbol(self, op: ir.Operation) -> Size:
        """A count that only a run can tell: turns of a loop `op`, how often a branch runs its
        first arm, or an element that is read and used as a size."""
        name = trip_name(self.name, len(self.trip_names) + 1)
        return symbol(self.trip_names.setdefault(op, name))

    def is_data(self, name: str) -> bool:
        """Whether a symbol's value depends on what the arrays hold, or is not understood."""
        return is_unknown(name) or name.startswith(f"{self.name}.trip")

    def equate(self, one: Size, other: Size) -> None:
        """Two sizes that are the same number: what data says is what the other one says."""
        for data, known in ((one, other), (other, one)):
            if isinstance(data, Expr) and data.op == "symbol" and self.is_data(str(data)):
                if not any(map(self.is_data, symbols(known))):
                    self.equal[str(data)] = known

    def rename(self, old: int, new: int) -> None:
        """Everything that is tensor `old` becomes tensor `new`."""
        if old == new:
            return
        self.nests = [nest_edits.renamed(nest, old, new) for nest in self.nests]
        for value, view in self.views.items():
            if view.tensor == old:
                self.views[value] = replace(view, tensor=new)

    def reshape(self, tensor: int, shape: tuple[Size, ...], step: Step) -> None:
        """Give a tensor another shape; `step` leads from a position in the old to the new."""
        self.tensors[tensor] = msgspec.structs.replace(self.tensors[tensor], shape=shape)
        self.nests = [nest_edits.moved(nest, tensor, step) for nest in self.nests]
        for value, view in self.views.items():
            if view.tensor == tensor:
                self.views[value] = replace(view, steps=(*view.steps, step))
        # A later load of the same window has its own shape again.
        self._stored = {key: index for key, index in self._stored.items() if index != tensor}

    def _dim(self, sizes: SizeReader, value: ir.OpResult) -> Size:
        """Leaf for `tensor.dim` and `memref.dim`."""
        array, number = value.owner.operation.operands
        place = sizes.read(number)
        return self.shape(array)[place] if isinstance(place, int) else sizes.fresh("tensor.dim")

    def _carry_out_fill(self, value: ir.Value, view: View) -> View:
        assert view.fill is not None
        write = Access(tensor=self.local(value), map=identity(len(view.shape)))
        self.move(view.fill, view.shape, None, write)
        return self.views[value]

    def is_product(self, view: View) -> bool:
        """Whether nests of this kernel made all of the value, and it is still on chip."""
        assert view.tensor is not None
        written = (access.tensor for nest in self.nests for access in nest.writes)
        return (
            view.whole and self.tensors[view.tensor].storage == "local" and view.tensor in written
        )

    def _is_carried(self, tensor: int) -> bool:
        """Whether a loop that has ended rewrote all of it every turn: only the last one counts."""
        whole = product(self.tensors[tensor].shape)
        return any(
            access.tensor == tensor
            and nest.trips != self.trips
            and whole == nest_edits.walked(nest, access)
            for nest in self.nests
            for access in nest.writes
        )

    def _is_used(self, tensor: int, op: ir.Operation) -> bool:
        """Whether a nest has read it, or an op that follows `op` will: it stays on chip then."""
        read = any(
            any(access.tensor == tensor for access in nest.reads)
            and all(access.tensor != tensor for access in nest.writes)
            for nest in self.nests
        )
        names = [value for value, view in self.views.items() if view.tensor == tensor]
        return read or any(_follows(use.owner.operation, op) for v in names for use in v.uses)

    def _store_part(self, op: ir.Operation, value: ir.Value, part: View) -> None:
        """Write `value` to a part of a tensor: what makes it writes there too, or a copy does."""
        view, here = self.view(value), identity(len(part.shape))
        assert part.tensor is not None
        if view.tensor == part.tensor:
            return  # updated in place
        made = view.tensor is not None and self.is_product(view)
        if made and view.tensor is not None and self.tensors[view.tensor].shape == view.shape:
            tensor, step = view.tensor, part.position
            self.nests = [
                nest_edits.writing_too(nest, tensor, part.tensor, step) for nest in self.nests
            ]
            return
        source = self.read(value, here) if view.tensor is not None else None
        write = Access(tensor=part.tensor, map=part.position(here))
        self.move(view.fill or op, view.shape, source, write)

    def _changes_shape(self, view: View, target: Buffer) -> bool:
        """Whether the target is read elsewhere by a shape that the producers do not have."""
        assert view.tensor is not None
        return target in self._stored and self.tensors[view.tensor].shape != target.shape

    def _write_too(self, view: View, target: Buffer) -> None:
        assert view.tensor is not None
        made = self.tensors[view.tensor]
        shaped = target if made.shape == target.shape else replace(target, shape=made.shape)
        copy = self._stored.get(target) if shaped is target else None
        if copy is None:
            copy = self._stored[shaped] = self.add(nest_edits.in_memory(made, target))
        self.nests = [nest_edits.writing_too(nest, view.tensor, copy) for nest in self.nests]

    def _become(self, tensor: int, target: Buffer) -> None:
        if target in self._stored:
            self.rename(tensor, self._stored[target])
        else:
            self.tensors[tensor] = nest_edits.in_memory(self.tensors[tensor], target)
            self._stored[target] = tensor


Reader = Callable[[KernelBuilder, ir.Operation], None]


def element_of(value: ir.Value) -> str:
    """Element type of a tensor or memref value."""
    return str(value.type.element_type)


def is_shaped(value: ir.Value) -> bool:
    return isinstance(value.type, Shaped)


def _follows(user: ir.Operation, op: ir.Operation) -> bool:
    return user != op and user.block == op.block and bool(op.is_before_in_block(user))
