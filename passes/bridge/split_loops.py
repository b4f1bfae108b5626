"""Loops that a body takes apart with division and remainder, as several loops.

IREE flattens an elementwise op to one loop and finds positions in its operands by
`i / 48` and `i % 48`. Read as they stand these are run-time positions, an element at a time; as
loops over the digits of `i` they are linear, and rows of a gather stay whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from iree.compiler import ir

from xpu_shark.passes.bridge.indexing import HERE, Position, added, constant, scaled
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import product
from xpu_shark.simulator.workload import Dim, Index, TileLevel

COUNTERS = ("linalg.index", "iree_linalg_ext.index")
_DIVISIONS = ("arith.divsi", "arith.divui", "arith.floordivsi")
_REMAINDERS = ("arith.remsi", "arith.remui")
_DELINEARIZE = "affine.delinearize_index"


@dataclass(frozen=True)
class Digit:
    """`(loop // stride) % modulus`; no modulus where it is None."""

    loop: int
    stride: int
    modulus: int | None = None

    def divided(self, by: int) -> Digit | None:
        """This digit divided by `by`, None where that is no digit."""
        if by <= 0 or (self.modulus is not None and self.modulus % by):
            return None
        left = None if self.modulus is None else self.modulus // by
        return Digit(self.loop, self.stride * by, left)

    def remainder(self, by: int) -> Digit | None:
        """This digit modulo `by`, None where that is no digit."""
        if by <= 0 or (self.modulus is not None and self.modulus % by):
            return None
        return Digit(self.loop, self.stride, by)


@dataclass(frozen=True)
class Split:
    """`parts[d]`: the new loops of old loop d, outermost first, each with its stride in d.

    `points` is the true number of turns where an outermost digit is cut short, else None.
    """

    dims: tuple[Dim, ...]
    parts: tuple[tuple[tuple[int, int], ...], ...]
    known: Mapping[ir.Value, Index]
    points: Size | None = None

    def position(self, position: Position) -> Position:
        """A position over the old loops, over the new ones."""
        return tuple(self._index(index) for index in position)

    def tiles(self, levels: Iterable[TileLevel]) -> tuple[TileLevel, ...]:
        """Tile sizes of the new loops: a flat tile fills the inner loops first."""
        return tuple(TileLevel(name=level.name, sizes=self._sizes(level.sizes)) for level in levels)

    def _index(self, index: Index) -> Index:
        if index.indirect:
            terms = tuple((new, 1) for old, _ in index.terms for new, _ in self.parts[old])
            return Index(terms=terms, indirect=True)
        moved = (
            scaled(Index(terms=((new, stride),)), factor)
            for old, factor in index.terms
            for new, stride in self.parts[old]
        )
        return added(*moved, Index(offset=index.offset))

    def _sizes(self, sizes: Sequence[int]) -> tuple[int, ...]:
        result = [0] * len(self.dims)
        for old, size in enumerate(sizes):
            for new, _ in reversed(self.parts[old]):
                extent = self.dims[new].extent
                if len(self.parts[old]) == 1 or not size or not isinstance(extent, int):
                    result[new] = size
                    continue
                result[new] = min(size, extent)
                size = -(-size // extent)
        return tuple(result)


def split_loops(
    ops: Iterable[ir.Operation], dims: Sequence[Dim], counters: Sequence[ir.Value] = ()
) -> Split | None:
    """The loops `dims` of a body of `ops` taken apart; None where there is nothing to gain.

    `counters`: values that count the loops, beside ops that ask for them.
    """
    digits = _digits(ops, counters)
    strides = [_strides(dim.extent, loop, digits.values()) for loop, dim in enumerate(dims)]
    if all(len(found) == 1 for found in strides):
        return None
    new: list[Dim] = []
    parts: list[tuple[tuple[int, int], ...]] = []
    for dim, found in zip(dims, strides, strict=True):
        first = len(new)
        new += [Dim(extent=size, kind=dim.kind) for size in _extents(dim.extent, found)]
        parts.append(tuple((first + place, stride) for place, stride in enumerate(found)))
    known = {value: _position(digit, parts[digit.loop]) for value, digit in digits.items()}
    usable = {value: index for value, index in known.items() if index is not None}
    turns, true = (product(tuple(dim.extent for dim in loops)) for loops in (new, dims))
    return Split(tuple(new), tuple(parts), usable, None if turns == true else true)


def _digits(ops: Iterable[ir.Operation], counters: Sequence[ir.Value]) -> dict[ir.Value, Digit]:
    """Values of a body that are a loop counter, or a part of one."""
    found = {value: Digit(loop, 1) for loop, value in enumerate(counters)}
    for op in ops:
        if op.name in COUNTERS:
            found[op.results[0]] = Digit(op.attributes["dim"].value, 1)
        elif op.name == _DELINEARIZE:
            found.update(_delinearized(op, found))
        elif op.name in _DIVISIONS or op.name in _REMAINDERS:
            digit, by = found.get(op.operands[0]), constant(op.operands[1])
            if digit is None or by is None:
                continue
            part = digit.divided(by) if op.name in _DIVISIONS else digit.remainder(by)
            if part is not None:
                found[op.results[0]] = part
    return found


def _delinearized(
    op: ir.Operation, found: Mapping[ir.Value, Digit]
) -> Iterator[tuple[ir.Value, Digit]]:
    digit, basis = found.get(op.operands[0]), list(op.attributes["static_basis"])
    results = list(op.results)
    inner = basis[len(basis) - len(results) + 1 :]
    if digit is None or any(size <= 0 for size in inner):
        return
    stride: Digit | None = digit
    for result, size in zip(reversed(results), [*reversed(inner), None], strict=True):
        if stride is None:
            return
        part = stride if size is None else stride.remainder(size)
        if part is not None:
            yield result, part
        stride = None if size is None else stride.divided(size)


def _strides(extent: Size, loop: int, digits: Iterable[Digit]) -> tuple[int, ...]:
    """Strides of the digits of a loop, largest first; (1,) where they do not nest."""
    bounds = {1}
    for digit in digits:
        if digit.loop == loop:
            bounds |= {digit.stride, digit.stride * (digit.modulus or 1)}
    if not isinstance(extent, int):
        return (1,)
    chain = sorted(bound for bound in bounds if bound < extent)
    nested = all(upper % lower == 0 for lower, upper in pairwise(chain))
    return tuple(reversed(chain)) if nested else (1,)


def _extents(extent: Size, strides: Sequence[int]) -> Iterator[Size]:
    above: Size = extent
    for stride in strides:
        yield -(-above // stride) if isinstance(above, int) else above
        above = stride


def _position(digit: Digit, parts: Sequence[tuple[int, int]]) -> Index | None:
    """The digit over the new loops; None where the loop was not split at its bounds."""
    if len(parts) == 1:
        return Index(terms=((parts[0][0], 1),)) if digit == Digit(digit.loop, 1) else None
    end = None if digit.modulus is None else digit.stride * digit.modulus
    covered = [
        (new, stride // digit.stride)
        for new, stride in parts
        if stride >= digit.stride and (end is None or stride < end)
    ]
    return Index(terms=tuple(covered)) if covered else HERE
