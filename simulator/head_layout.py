"""How rows of a fused attention's operands lie in vector registers, and what it takes to move them.

A register of a systolic array's core holds `SUBLANES` rows of `LANES` elements, and memory is laid
out in such tiles. Rows of a head that have other heads between them are gathered, a register at a
time. Query heads that share a cached head lie beside each other in every token: those that fill no
register are moved on their own, a run of them at a time, to become rows of one product, and their
results back.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.target import Systolic, Target
from xpu_shark.simulator.units.cost import ceildiv
from xpu_shark.simulator.workload import Access

LANES, SUBLANES = 128, 8


def heads_of(scores: BoundNest) -> int:
    """The loop dim over heads that lie between the keys of one; -1 where there are none."""
    dims = scores.contraction
    assert dims is not None
    dim = _walked(scores.reads[dims.rhs], -2)
    return dim if dim in dims.batch and scores.extents[dim] > 1 else -1


def tokens_of(scores: BoundNest) -> int:
    """The loop dim over tokens, of all that walk over the queries of a cached head: the one outside
    of the heads, or else the longest; -1 where there is one token. Query heads that share a cached
    head are at most as many as a register has lanes."""
    dims = scores.contraction
    assert dims is not None
    several = [dim for dim in dims.m if scores.extents[dim] > 1]
    if heads_of(scores) >= 0:
        beside = _beside(scores)
        outside = [dim for dim in several if dim not in beside]
        several = outside or [dim for dim in several if scores.extents[dim] > LANES]
    return max(several, key=lambda dim: scores.extents[dim], default=-1)


def moves_ps(kernel: BoundKernel, product: BoundNest, target: Target, tile: Sequence[int]) -> int:
    """Time to bring both operands of one tile of a product into whole registers, where heads lie
    between the rows of one."""
    dims, unit = product.contraction, target.matrix
    assert dims is not None
    assert isinstance(unit, Systolic)
    if heads_of(product) < 0:
        return 0
    gathered, runs = _rows(product.reads[dims.rhs], tile), 0
    if kernel.tensors[product.reads[dims.lhs].tensor].is_global:  # scores are in registers
        group = prod(product.extents[dim] for dim in _beside(product))
        if group > 1:
            runs = _runs(product, tile, group)
        else:
            gathered += _rows(product.reads[dims.lhs], tile)
    cycles = ceildiv(gathered, SUBLANES) * unit.gather_cycles + runs * unit.run_cycles
    return target.ps(cycles)


def _rows(access: Access, tile: Sequence[int]) -> int:
    return prod(tile[dim] for dim in {dim for index in access.map[:-1] for dim, _ in index.terms})


def _runs(product: BoundNest, tile: Sequence[int], group: int) -> int:
    """Runs of the left operand's rows that are moved on their own: of the `group` of query heads of
    a token those that fill no register, all of them where they are a power of two, else smaller
    ones. A block has at least as many tokens as a register has rows."""
    dims = product.contraction
    assert dims is not None
    rest = group % SUBLANES
    if rest == 0:
        return 0
    beside = _beside(product)
    tokens = prod(tile[dim] for dim in dims.m if dim not in beside)
    heads = prod(tile[dim] for dim in dims.batch)
    return heads * max(tokens, SUBLANES) * rest // (rest & -rest)


def _beside(scores: BoundNest) -> set[int]:
    """Loop dims over queries that lie beside each other, inside of the heads."""
    dims = scores.contraction
    assert dims is not None
    queries, found = scores.reads[dims.lhs], set[int]()
    for place in range(len(queries.map) - 2, -1, -1):
        dim = _walked(queries, place)
        if dim not in dims.m:
            break
        found.add(dim)
    return found


def _walked(access: Access, place: int) -> int:
    """The loop dim that alone walks a dimension of the operand; -1 where none does."""
    if not -len(access.map) <= place < len(access.map):
        return -1
    terms = access.map[place].terms
    return terms[0][0] if len(terms) == 1 else -1
