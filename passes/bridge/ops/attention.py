"""`iree_linalg_ext.attention` and `online_attention`: softmax(Q K^T x scale + mask) V.

Five steps that share tensors on chip, six with the division by the sum that `online_attention`
leaves to others. Where the body masks the scores by position (query i sees key j <= i) only
the pairs that are seen count: `points` is that number, not the product of the extents.
Not counted: rescaling the accumulator when a chunk of keys brings a new maximum, which happens
once a chunk and so depends on the tile size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from iree.compiler import ir

from xpu_shark.passes.bridge.body_work import body_ops
from xpu_shark.passes.bridge.errors import Unreadable
from xpu_shark.passes.bridge.indexing import Position, along, from_ssa, positions, walk_dims
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader, element_of, is_shaped
from xpu_shark.passes.bridge.ops.structured import count, indexing_maps, loop_dims
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import apply, product
from xpu_shark.simulator.workload import Access, Contraction, Dim, Index, Tensor, Work


@dataclass
class _Attention:
    """The op's loops by role, as numbers of its own loop dims."""

    builder: KernelBuilder
    op: ir.Operation
    dims: Sequence[Dim]
    places: Sequence[Position]
    score: str  # element type that scores are computed in
    batch: list[int] = field(default_factory=list)
    m: list[int] = field(default_factory=list)
    n: list[int] = field(default_factory=list)
    k1: list[int] = field(default_factory=list)
    k2: list[int] = field(default_factory=list)
    seen: Size | None = None  # pairs of query and key that the mask leaves, a batch entry

    def local(self, loops: Sequence[int], element: str) -> int:
        """A tensor on chip with one dimension for each of `loops`."""
        shape = tuple(self.dims[loop].extent for loop in loops)
        return self.builder.add(Tensor(shape=shape, element=element, storage="local"))

    def at(self, loops: Sequence[int], within: Sequence[int]) -> Position:
        """Position in such a tensor, in a nest over `within`."""
        return along(*(within.index(loop) for loop in loops))

    def moved(self, position: Position, within: Sequence[int]) -> Position:
        """An operand's position, in a nest over `within`."""
        return tuple(
            Index(
                terms=tuple((within.index(dim), c) for dim, c in index.terms),
                indirect=index.indirect,
                offset=index.offset,
            )
            for index in position
        )

    def emit(
        self,
        name: str,
        loops: Sequence[int],
        reduced: Iterable[int],
        reads: Iterable[Access | None],
        writes: Iterable[Access],
        work: Iterable[Work],
        contraction: Contraction | None = None,
    ) -> None:
        """A nest over `loops`, of which `reduced` are summed away."""
        summed = set(reduced)
        dims = (
            Dim(extent=self.dims[x].extent, kind="reduction" if x in summed else "parallel")
            for x in loops
        )
        masked = self.seen is not None and {*self.m, *self.k2} <= {*loops}
        rest = [self.dims[x].extent for x in loops if x not in (*self.m, *self.k2)]
        points = product((*rest, self.seen)) if masked and self.seen is not None else None
        self.builder.emit(
            self.op, dims, reads, writes, work,
            name=f"attention.{name}", contraction=contraction, points=points, loops=loops,
        )  # fmt: skip


def read_attention(builder: KernelBuilder, op: ir.Operation) -> None:
    """The nests of one attention; see the module's docstring for what they count."""
    parts = _take_apart(builder, op)
    operands = list(op.operands)
    online = op.name.endswith("online_attention")
    rows = [*parts.batch, *parts.m]
    pairs = [*rows, *parts.k2]
    builder.online = True
    scores = _scores(parts, operands, pairs)
    peak = parts.local(rows, parts.score)
    total = parts.local(rows, parts.score)
    weights = parts.local(pairs, element_of(operands[2]))
    _softmax(parts, pairs, rows, scores, peak, total, weights)
    if online:
        _values(parts, operands, weights, builder.local(op.results[0]))
        _statistics(parts, operands, rows, peak, total)
        return
    summed = parts.local([*rows, *parts.n], parts.score)
    _values(parts, operands, weights, summed)
    _divide(parts, operands, rows, summed, total)


def _take_apart(builder: KernelBuilder, op: ir.Operation) -> _Attention:
    maps = indexing_maps(op)
    operands = list(op.operands)
    if maps is None or len(maps) != len(operands) or not len(op.regions):
        raise Unreadable(f"{op.name} without indexing maps and a body")
    places = [positions(map_) for map_ in maps]
    outs = 3 if op.name.endswith("online_attention") else 1
    dims = loop_dims(builder, maps[0].n_dims, operands, places, outs)
    block = op.regions[0].blocks[0]
    parts = _Attention(builder, op, dims, places, str(block.arguments[0].type))
    query, key, value, out = (set(walk_dims(places[i])) for i in (0, 1, 2, len(places) - outs))
    roles = (
        (parts.batch, query & key & value & out),
        (parts.m, (query & out) - key),
        (parts.n, (value & out) - query),
        (parts.k1, (query & key) - out),
        (parts.k2, (key & value) - out),
    )
    for role, loops in roles:
        role.extend(sorted(loops))
    parts.seen = _seen_pairs(parts, block)
    return parts


def _scores(parts: _Attention, operands: list[ir.Value], pairs: list[int]) -> int:
    """Q K^T, then scale, mask and what the body does."""
    builder, loops = parts.builder, [*pairs, *parts.k1]
    scores = parts.local(pairs, parts.score)
    reads = [builder.read(operands[i], parts.moved(parts.places[i], loops)) for i in range(2)]
    types = element_of(operands[0]), element_of(operands[1])
    contraction = _contraction(
        loops, parts.batch, parts.m, parts.k2, parts.k1, reads, types, parts.score
    )
    write = Access(tensor=scores, map=parts.at(pairs, loops))
    madd = Work(kind="madd", element=parts.score)
    parts.emit("qk", loops, parts.k1, reads, (write,), (madd,), contraction)
    here = Access(tensor=scores, map=parts.at(pairs, pairs))
    mask, work = _mask(parts, operands, pairs)
    scale = Work(kind="mul", element=parts.score)
    body = count(parts.op.regions[0].blocks[0])
    parts.emit("scale", pairs, (), (here, mask), (here,), (scale, *work, *body))
    return scores


def _mask(
    parts: _Attention, operands: list[ir.Value], pairs: list[int]
) -> tuple[Access | None, tuple[Work, ...]]:
    """Reading the mask operand, if there is one, and applying it: added, or selected by an i1."""
    outs = 3 if parts.op.name.endswith("online_attention") else 1
    if len(operands) - outs < 5 or not is_shaped(operands[4]):
        return None, ()
    access = parts.builder.read(operands[4], parts.moved(parts.places[4], pairs))
    kind = "select" if element_of(operands[4]) in ("i1", "i8") else "add"
    return access, (Work(kind=kind, element=parts.score),)


def _softmax(
    parts: _Attention,
    pairs: list[int],
    rows: list[int],
    scores: int,
    peak: int,
    total: int,
    weights: int,
) -> None:
    """Row maxima, then exponentials of the distance to them with their sums."""
    here, row = parts.at(pairs, pairs), parts.at(rows, pairs)
    read = Access(tensor=scores, map=here)
    top, sums = Access(tensor=peak, map=row), Access(tensor=total, map=row)
    parts.emit("max", pairs, parts.k2, (read,), (top,), (Work(kind="max", element=parts.score),))
    work = [Work(kind="add", element=parts.score, count=2), Work(kind="exp", element=parts.score)]
    if parts.builder.tensors[weights].element != parts.score:
        work.append(Work(kind="convert", element=parts.builder.tensors[weights].element))
    write = Access(tensor=weights, map=here)
    parts.emit("exp_sum", pairs, parts.k2, (read, top), (write, sums), work)


def _values(parts: _Attention, operands: list[ir.Value], weights: int, out: int) -> None:
    """The weights times V."""
    rows = [*parts.batch, *parts.m]
    loops = [*rows, *parts.n, *parts.k2]
    value = element_of(operands[2])
    reads = [
        Access(tensor=weights, map=parts.at([*rows, *parts.k2], loops)),
        parts.builder.read(operands[2], parts.moved(parts.places[2], loops)),
    ]
    accumulator = parts.builder.tensors[out].element
    contraction = _contraction(
        loops, parts.batch, parts.m, parts.n, parts.k2, reads, (value, value), accumulator
    )
    write = Access(tensor=out, map=_out_position(parts, out, loops))
    madd = Work(kind="madd", element=accumulator)
    parts.emit("pv", loops, parts.k2, reads, (write,), (madd,), contraction)


def _divide(
    parts: _Attention, operands: list[ir.Value], rows: list[int], summed: int, total: int
) -> None:
    loops = [*rows, *parts.n]
    result = parts.op.results[0] if len(parts.op.results) else operands[-1]
    reads = (
        Access(tensor=summed, map=parts.at(loops, loops)),
        Access(tensor=total, map=parts.at(rows, loops)),
    )
    write = parts.builder.write(result, parts.moved(parts.places[-1], loops))
    work = [Work(kind="div", element=parts.score, by_loops=len(rows))]
    if element_of(result) != parts.score:
        work.append(Work(kind="convert", element=element_of(result)))
    parts.emit("divide", loops, (), reads, (write,), work)


def _statistics(
    parts: _Attention, operands: list[ir.Value], rows: list[int], peak: int, total: int
) -> None:
    """`online_attention` also returns the maxima and sums."""
    here = parts.at(rows, rows)
    for number, tensor in ((1, peak), (2, total)):
        write = parts.builder.write(
            parts.op.results[number], parts.moved(parts.places[len(operands) - 3 + number], rows)
        )
        parts.emit("statistics", rows, (), (Access(tensor=tensor, map=here),), (write,), ())


def _out_position(parts: _Attention, out: int, loops: list[int]) -> Position:
    online = parts.op.name.endswith("online_attention")
    if online:
        return parts.moved(parts.places[-3], loops)
    return parts.at([*parts.batch, *parts.m, *parts.n], loops)


def _contraction(
    loops: list[int],
    batch: list[int],
    m: list[int],
    n: list[int],
    k: list[int],
    reads: Sequence[Access | None],
    types: tuple[str, str],
    accumulator: str,
) -> Contraction | None:
    """Loop roles as places in the nest; None where a side is a constant."""
    if None in reads:
        return None
    batch_, m_, n_, k_ = (tuple(map(loops.index, role)) for role in (batch, m, n, k))
    return Contraction(
        batch=batch_, m=m_, n=n_, k=k_, lhs=0, rhs=1,
        lhs_element=types[0], rhs_element=types[1], accumulator=accumulator,
    )  # fmt: skip


def _seen_pairs(parts: _Attention, block: ir.Block) -> Size | None:
    """Pairs (i, j) that a body `select(j <= i, score, -inf)` leaves; None for any other body."""
    *_, last = block.operations
    chosen = last.operation.operands[0]
    if isinstance(chosen, ir.BlockArgument) or chosen.owner.operation.name != "arith.select":
        return None
    condition = chosen.owner.operation.operands[0]
    if len(parts.m) != 1 or len(parts.k2) != 1 or isinstance(condition, ir.BlockArgument):
        return None
    strict = _excludes_later(condition.owner.operation, _counters(block), parts)
    if strict is None:
        return None
    queries, keys = parts.dims[parts.m[0]].extent, parts.dims[parts.k2[0]].extent
    return triangle(apply("sub", queries, 1) if strict else queries, keys)


def triangle(rows: Size, columns: Size) -> Size:
    """Pairs with j <= i of i < rows, j < columns.

    r (r + 1) / 2 + (rows - r) columns, with r the smaller of the two.
    """
    full = apply("min", rows, columns)
    corner = apply("floordiv", product((full, apply("add", full, 1))), 2)
    return apply("add", corner, product((apply("sub", rows, full), columns)))


def _counters(block: ir.Block) -> dict[ir.Value, Index]:
    return {
        op.results[0]: along(op.attributes["dim"].value)[0]
        for op in body_ops(block)
        if op.name in ("iree_linalg_ext.index", "linalg.index")
    }


def _excludes_later(
    compare: ir.Operation, known: Mapping[ir.Value, Index], parts: _Attention
) -> bool | None:
    """Whether a comparison keeps j < i (True) or j <= i (False); None if it is another one."""
    if compare.name != "arith.cmpi":
        return None
    lhs, rhs = (from_ssa(value, known) for value in compare.operands)
    query, key = along(parts.m[0])[0], along(parts.k2[0])[0]
    predicate = compare.attributes["predicate"].value
    if (lhs, rhs) == (query, key):
        return _QUERY_FIRST.get(predicate)
    return _KEY_FIRST.get(predicate) if (lhs, rhs) == (key, query) else None


# Predicates of arith.cmpi (slt 2, sle 3, sgt 4, sge 5; unsigned 6 to 9): is it strict?
_QUERY_FIRST = {4: True, 5: False, 8: True, 9: False}
_KEY_FIRST = {2: True, 3: False, 6: True, 7: False}

READERS: dict[str, Reader] = {
    "iree_linalg_ext.attention": read_attention,
    "iree_linalg_ext.online_attention": read_attention,
}
