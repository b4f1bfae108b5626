"""What a tile of a nest costs on the units of a core: one or two instructions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from math import prod

import msgspec

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.footprint import REMEMBERED, region
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.units import matrix, vector
from xpu_shark.simulator.units.cost import Cost
from xpu_shark.simulator.workload import Contraction, Work

FREE = frozenset({"index"})  # address arithmetic: done by address generators


class Op(msgspec.Struct, frozen=True):
    """One instruction on the unit `unit` ("matrix" or "vector")."""

    unit: str
    cost: Cost


@cache
def matrix_element(target: Target, contraction: Contraction | None) -> str | None:
    """The type at which the matrix unit runs it, or None where it is vector work."""
    if contraction is None or target.matrix is None:
        return None
    return matrix.supports(target, contraction.lhs_element, contraction.rhs_element)


@lru_cache(maxsize=REMEMBERED)
def units(nest: BoundNest, target: Target) -> tuple[str, ...]:
    """Units that the nest's instructions run on, in order; fixed for all its tiles."""
    element = matrix_element(target, nest.contraction)
    if element is None:
        return ("vector",) if _vector_work(nest) else ()
    return ("vector", "matrix") if _preparation(nest, element) else ("matrix",)


def ops(
    kernel: BoundKernel, nest: BoundNest, target: Target, tile: Sequence[int]
) -> tuple[Op, ...]:
    """Instructions for one tile of `tile[d]` iterations of each loop dim, in order.

    Points that triangular or ragged bounds leave out are taken off every tile alike.
    """
    return _ops(kernel, nest, target, tuple(tile))


@lru_cache(maxsize=REMEMBERED)
def _ops(
    kernel: BoundKernel, nest: BoundNest, target: Target, tile: tuple[int, ...]
) -> tuple[Op, ...]:
    element = matrix_element(target, nest.contraction)
    if element is None:
        if not _vector_work(nest):
            return ()
        return (Op("vector", _on_vector(nest, target, tile)),)
    product = Op("matrix", _on_matrix(nest, target, tile, element))
    if not (kinds := _preparation(nest, element)):
        return (product,)
    points = max(
        region(kernel.tensors[nest.reads[number].tensor], nest.reads[number], tile).elements
        for number in _operands(nest)
    )
    counts = {key: count * points for key, count in kinds.items()}
    return Op("vector", vector.work_cost(target, counts)), product


def times(work: Work, extents: Sequence[int], points: int) -> int:
    """How often `work` is done in loops of `extents` that execute their body `points` times."""
    return points if work.loops is None else min(points, prod(extents[: work.loops]))


def _on_vector(nest: BoundNest, target: Target, tile: Sequence[int]) -> Cost:
    points = _points(nest, tile)
    counts: dict[tuple[str, str], int] = {}
    for work in nest.work:
        if work.kind not in FREE:
            key = (work.kind, work.element)
            counts[key] = counts.get(key, 0) + work.count * times(work, tile, points)
    innermost = tile[-1] if tile else 1
    padded = vector.padded(target.vector, points, min(innermost, points))
    return vector.work_cost(target, counts, points=max(points, 1), padded_points=padded)


def _on_matrix(nest: BoundNest, target: Target, tile: Sequence[int], element: str) -> Cost:
    dims = nest.contraction
    assert dims is not None
    sizes = {
        name: prod(tile[dim] for dim in getattr(dims, name)) for name in ("batch", "m", "n", "k")
    }
    cost = matrix.tile_cost(target, **sizes, element=element)
    if nest.points != nest.box:
        service = -(-cost.service_ps * nest.points // max(nest.box, 1))
        cost = Cost(service, cost.latency_ps)
    return cost


def _points(nest: BoundNest, tile: Sequence[int]) -> int:
    box = prod(tile)
    return box if nest.points == nest.box else -(-box * nest.points // max(nest.box, 1))


def _vector_work(nest: BoundNest) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for work in nest.work:
        if work.kind not in FREE:
            key = (work.kind, work.element)
            counts[key] = counts.get(key, 0) + work.count
    return counts


def _preparation(nest: BoundNest, element: str) -> dict[tuple[str, str], int]:
    """Vector work before the product: what the body does besides the multiply-add.

    It concerns operands, so it is done once an element and not once a multiply-add. Conversions
    are left out where the unit itself takes the stored types.
    """
    dims = nest.contraction
    assert dims is not None
    native = dims.lhs_element == dims.rhs_element == element
    return {
        key: count
        for key, count in _vector_work(nest).items()
        if key[0] != "madd" and not (native and key[0] == "convert")
    }


def _operands(nest: BoundNest) -> tuple[int, int]:
    assert nest.contraction is not None
    return nest.contraction.lhs, nest.contraction.rhs
