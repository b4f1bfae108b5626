"""Every op that is a loop nest with indexing maps and a body: `linalg.generic` and named ops."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from iree.compiler import ir
from iree.compiler.dialects import linalg

from xpu_shark.passes.bridge.body_work import accumulation, body_ops, count_work
from xpu_shark.passes.bridge.contraction import find_contraction
from xpu_shark.passes.bridge.errors import Unreadable
from xpu_shark.passes.bridge.indexing import HERE, Position, along, combined, from_ssa, positions
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader, element_of, is_shaped
from xpu_shark.passes.bridge.shapes import destinations
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.passes.bridge.split_loops import COUNTERS, Split, split_loops
from xpu_shark.passes.bridge.tile_sizes import read_tiles
from xpu_shark.simulator.workload import Access, Contraction, Dim, Index, Tensor, Work

_PICKS = frozenset(("tensor.extract", "memref.load"))
_MEMO = "linalg.memoized_indexing_maps"


@dataclass(frozen=True)
class Structured:
    """One structured op taken apart. `positions` are the operands', over the loop dims."""

    op: ir.Operation
    block: ir.Block
    operands: tuple[ir.Value, ...]
    outs: int
    positions: tuple[Position, ...]
    dims: tuple[Dim, ...]
    split: Split | None = None  # how `dims` came from the op's own loops, if they differ

    @property
    def inputs(self) -> range:
        return range(len(self.operands) - self.outs)

    @property
    def outputs(self) -> range:
        return range(len(self.operands) - self.outs, len(self.operands))

    def argument(self, operand: int) -> ir.BlockArgument:
        return self.block.arguments[operand]


def read_structured(builder: KernelBuilder, op: ir.Operation) -> None:
    """One nest; a constant fill of a tensor is put off until somebody needs it in memory."""
    parts = _with_digits(take_apart(builder, op))
    if is_fill(parts) and len(op.results) == 1:
        builder.blank(op.results[0], fill=op)
        return
    products = _products(parts)
    if products:
        _emit_products(builder, parts, products)
        return
    reads, order = read_inputs(builder, parts)
    product, contraction = None, None
    if parts.outs == 1:
        constants = _constants(builder, parts, order)
        factors = {operand: len(reads) + number for number, operand in enumerate(constants)}
        product, contraction = _contraction(parts, {**order, **factors})
        if contraction is not None:
            reads += [_everywhere(builder, parts, operand) for operand in constants]
    work = count(parts.block, (product,) if product is not None else (), _reach(parts))
    reads += _gathers(builder, parts)
    reads += read_previous(builder, parts)
    writes = write_outputs(builder, parts)
    tiles, points = None, None
    if parts.split is not None:
        tiles = parts.split.tiles(read_tiles(op, range(len(parts.split.parts))))
        points = parts.split.points
    builder.emit(
        op, parts.dims, reads, writes, work, contraction=contraction, points=points, tiles=tiles
    )


def _products(parts: Structured) -> list[ir.Value]:
    """What each result adds up, where there are several and all of them are sums of products of
    their own: contractions with one operand in common that IREE joined. Empty elsewhere."""
    if parts.outs < 2 or parts.split is not None or _has_picks(parts):
        return []
    sums = (
        accumulation(parts.block, number, parts.argument(operand))
        for number, operand in enumerate(parts.outputs)
    )
    found = [product for product in sums if product is not None]
    return found if len(set(found)) == parts.outs else []


def _emit_products(builder: KernelBuilder, parts: Structured, products: Sequence[ir.Value]) -> None:
    """A nest for each result, in the same loops. What several of them compute counts once."""
    *_, last = parts.block.operations
    counted: set[ir.Operation] = set()
    nests = []
    for number, product in enumerate(products):
        ops = _needed(last.operation.operands[number], parts.block)
        used = {value for op in ops for value in op.operands}
        output = parts.outputs[number]
        reads, order = read_inputs(builder, parts, used)
        contraction = _contraction(parts, order, number)[1]
        work = count(parts.block, (product,), _reach(parts), ops - counted)
        reads += read_previous(builder, parts, (output,))
        nests.append((reads, write_outputs(builder, parts, (number,)), work, contraction))
        counted |= ops
    for number, (reads, writes, work, contraction) in enumerate(nests):
        builder.emit(
            *(parts.op, parts.dims, reads, writes, work),
            contraction=contraction,
            joint=number > 0,
        )


def _needed(value: ir.Value, block: ir.Block) -> set[ir.Operation]:
    """The ops of `block` that `value` is computed by."""
    found: set[ir.Operation] = set()
    todo = [value]
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, ir.Block) or owner.operation.block != block:
            continue
        if owner.operation not in found:
            found.add(owner.operation)
            todo += owner.operation.operands
    return found


def take_apart(builder: KernelBuilder, op: ir.Operation) -> Structured:
    """The op's loops and operands. Raises `Unreadable` where it has no indexing maps or body."""
    maps = indexing_maps(op)
    operands, outs = tuple(op.operands), len(destinations(op))
    if maps is None or len(maps) != len(operands) or not len(op.regions):
        raise Unreadable(f"{op.name} without indexing maps")
    places = tuple(positions(map_) for map_ in maps)
    dims = loop_dims(builder, maps[0].n_dims, operands, places, outs)
    return Structured(op, op.regions[0].blocks[0], operands, outs, places, dims)


def _with_digits(parts: Structured) -> Structured:
    """Loops whose digits say where a body picks elements, as a loop a digit."""
    if not _has_picks(parts):
        return parts
    split = split_loops(body_ops(parts.block), parts.dims)
    if split is None:
        return parts
    places = tuple(map(split.position, parts.positions))
    return replace(parts, positions=places, dims=split.dims, split=split)


def indexing_maps(op: ir.Operation) -> tuple[ir.AffineMap, ...] | None:
    """One map an operand, of generic and named ops alike; None for ops that have none."""
    if "indexing_maps" in op.attributes:
        return tuple(attribute.value for attribute in op.attributes["indexing_maps"])
    had_memo = _MEMO in op.attributes
    maps = linalg.get_indexing_maps(op)
    if not had_memo and _MEMO in op.attributes:
        del op.attributes[_MEMO]  # asking left it there; the program must stay as it was
    return None if maps is None else tuple(attribute.value for attribute in maps)


def loop_dims(
    builder: KernelBuilder,
    count: int,
    operands: Sequence[ir.Value],
    places: Sequence[Position],
    outs: int,
) -> tuple[Dim, ...]:
    """Extents from the operands that a loop dim walks alone; those that no output has reduce."""
    extents: dict[int, Size] = {}
    for operand, position in zip(operands, places, strict=True):
        if not is_shaped(operand):
            continue
        for size, index in zip(builder.shape(operand), position, strict=True):
            if len(index.terms) == 1 and index.terms[0][1] == 1 and not index.indirect:
                known = extents.setdefault(index.terms[0][0], size)
                builder.equate(known, size)
                if not isinstance(known, int):
                    extents[index.terms[0][0]] = size if isinstance(size, int) else known
    kept = {dim for place in places[-outs:] for index in place for dim, _ in index.terms}
    return tuple(
        Dim(
            extent=extents[dim] if dim in extents else builder.sizes.fresh(f"loop{dim}"),
            kind="parallel" if dim in kept else "reduction",
        )
        for dim in range(count)
    )


def is_fill(parts: Structured) -> bool:
    """Whether the body only yields a value from outside."""
    first, *rest = parts.block.operations
    if rest:
        return False
    (value,) = first.operation.operands[:1] or (None,)
    fills = parts.op.name == "linalg.fill"
    return fills or (value is not None and _is_outside(value, parts.block))


def read_inputs(
    builder: KernelBuilder, parts: Structured, used: Container[ir.Value] | None = None
) -> tuple[list[Access], dict[int, int]]:
    """Accesses of the inputs that the body uses (of those, the `used` ones), and for each input
    where it is among them."""
    reads: list[Access] = []
    order: dict[int, int] = {}
    for operand in parts.inputs:
        argument = parts.argument(operand)
        if not is_shaped(parts.operands[operand]) or not _is_used(argument):
            continue
        if used is not None and argument not in used:
            continue
        access = builder.read(parts.operands[operand], parts.positions[operand])
        if access is not None:
            order[operand] = len(reads)
            reads.append(access)
    return reads, order


def _constants(builder: KernelBuilder, parts: Structured, order: Container[int]) -> list[int]:
    """Inputs that hold one number everywhere, which the body uses."""
    return [
        operand
        for operand in parts.inputs
        if operand not in order
        and is_shaped(parts.operands[operand])
        and _is_used(parts.argument(operand))
        and builder.view(parts.operands[operand]).tensor is None
    ]


def _everywhere(builder: KernelBuilder, parts: Structured, operand: int) -> Access:
    """Reading such an input as a factor of a product, which is multiplied like any other: it is
    made on chip, so nothing is loaded."""
    value = parts.operands[operand]
    tensor = Tensor(shape=builder.shape(value), element=element_of(value), storage="local")
    return Access(tensor=builder.add(tensor), map=parts.positions[operand])


def write_outputs(
    builder: KernelBuilder, parts: Structured, numbers: Sequence[int] | None = None
) -> list[Access]:
    """Accesses of the outputs with these numbers, or of all."""
    targets = list(parts.op.results) or list(parts.operands[-parts.outs :])
    return [
        builder.write(targets[number], parts.positions[parts.outputs[number]])
        for number in (range(parts.outs) if numbers is None else numbers)
    ]


def _reach(parts: Structured) -> dict[ir.Value, int]:
    """Inputs that do not vary with the innermost loop, with the loops that they vary with."""
    reach: dict[ir.Value, int] = {}
    for operand in parts.inputs:
        dims = {dim for index in parts.positions[operand] for dim, _ in index.terms}
        loops = max(dims, default=-1) + 1
        if loops < len(parts.dims):
            reach[parts.argument(operand)] = loops
    return reach


def count(
    block: ir.Block,
    fused: Sequence[ir.Value] = (),
    reach: Mapping[ir.Value, int] | None = None,
    only: Container[ir.Operation] | None = None,
) -> tuple[Work, ...]:
    """`count_work`, an op without a kind being `Unreadable`."""
    try:
        return count_work(block, fused, reach, only)
    except KeyError as error:
        raise Unreadable(f"no cost for {error.args[0]} in a body") from error


def _contraction(
    parts: Structured, order: dict[int, int], number: int = 0
) -> tuple[ir.Value | None, Contraction | None]:
    """The product that a result of the body adds up, and what a matrix unit makes of it."""
    output = parts.outputs[number]
    product = accumulation(parts.block, number, parts.argument(output))
    if product is None:
        return None, None
    return product, find_contraction(
        product,
        [parts.argument(operand) for operand in parts.inputs],
        parts.positions,
        parts.positions[output],
        order,
        element_of(parts.operands[output]),
    )


def read_previous(
    builder: KernelBuilder, parts: Structured, outputs: Sequence[int] | None = None
) -> list[Access]:
    """Reading what outputs (these operands, or all) held before, where the body uses it and it is
    not a fill."""
    reads: list[Access] = []
    for operand in parts.outputs if outputs is None else outputs:
        value = parts.operands[operand]
        if _is_used(parts.argument(operand)) and builder.view(value).tensor is not None:
            access = builder.read(value, parts.positions[operand])
            reads += [access] if access else []
    return reads


def gathers(builder: KernelBuilder, block: ir.Block, known: dict[ir.Value, Index]) -> list[Access]:
    """Elements that a body picks from whole arrays by positions over `known` ones."""
    reads: list[Access] = []
    for op in body_ops(block):
        if op.name not in _PICKS:
            continue
        source, *indices = op.operands
        place = tuple(from_ssa(index, known) for index in indices)
        known[op.results[0]] = combined(*place)
        access = builder.read(source, place)
        reads += [access] if access else []
    return reads


def _gathers(builder: KernelBuilder, parts: Structured) -> list[Access]:
    return gathers(builder, parts.block, _known_positions(parts)) if _has_picks(parts) else []


def _has_picks(parts: Structured) -> bool:
    return any(op.name in _PICKS for op in body_ops(parts.block))


def _known_positions(parts: Structured) -> dict[ir.Value, Index]:
    """Loop counters of the body, and for each of its arguments the dims it varies with."""
    known: dict[ir.Value, Index] = {
        parts.argument(operand): combined(*position) if position else HERE
        for operand, position in enumerate(parts.positions)
    }
    if parts.split is not None:
        return {**known, **parts.split.known}
    for op in body_ops(parts.block):
        if op.name in COUNTERS:
            known[op.results[0]] = along(op.attributes["dim"].value)[0]
    return known


def _is_used(argument: ir.BlockArgument) -> bool:
    return next(iter(argument.uses), None) is not None


def _is_outside(value: ir.Value, block: ir.Block) -> bool:
    return value.owner != block and (
        isinstance(value, ir.BlockArgument) or value.owner.operation.block != block
    )


def _names() -> Iterable[str]:
    """Every op of the linalg dialect; those without maps have readers of their own."""
    classes = (item for item in vars(linalg).values() if isinstance(item, type))
    names = (getattr(item, "OPERATION_NAME", "") for item in classes)
    return (name for name in names if name.startswith("linalg."))


READERS: dict[str, Reader] = {name: read_structured for name in _names()}
