"""What part of a tensor a tile of a nest touches: elements, bytes, contiguous runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import msgspec

from xpu_shark.simulator.bind import BoundNest, BoundTensor
from xpu_shark.simulator.element_type import storage_bytes
from xpu_shark.simulator.workload import Access

REMEMBERED = 1 << 14  # results kept of each function that tilers ask again and again


class Region(msgspec.Struct, frozen=True):
    """`elements` in `runs` contiguous pieces of up to `run_bytes` each, `bytes` in all."""

    elements: int
    bytes: int
    runs: int
    run_bytes: int


def region(tensor: BoundTensor, access: Access, tile: Sequence[int]) -> Region:
    """The part of `tensor` that `access` touches when loop dim d spans `tile[d]` iterations.

    Along a dimension indexed by sum(c_d x i_d) that is sum(|c_d| x (tile_d - 1)) + 1 elements, at
    most the tensor's: sliding windows overlap inside a tile and are loaded once. Indirect
    indices together pick one place for each point of all their dims.
    """
    return _region(tensor, access, tuple(tile))


def accesses(nest: BoundNest) -> list[tuple[Access, bool]]:
    """Every operand with whether it is written, reads first."""
    return [(access, False) for access in nest.reads] + [(access, True) for access in nest.writes]


@lru_cache(maxsize=REMEMBERED)
def _region(tensor: BoundTensor, access: Access, tile: tuple[int, ...]) -> Region:
    spans, picked = [], set[int]()
    for extent, index in zip(tensor.shape, access.map, strict=True):
        if index.indirect:
            picked.update(dim for dim, _ in index.terms)
            spans.append(min(extent, 1))
        else:
            span = 1 + sum(abs(c) * (tile[dim] - 1) for dim, c in index.terms)
            spans.append(max(0, min(extent, span)))
    if spans and tensor.row_granule > 1:
        spans[-1] = -(-spans[-1] // tensor.row_granule) * tensor.row_granule
    elements = prod(spans) * prod(tile[dim] for dim in picked)
    run = min(_run(tensor, spans), elements)
    if not elements or not run:
        return Region(0, 0, 0, 0)
    size = storage_bytes(tensor.element, elements)
    return Region(elements, size, -(-elements // run), storage_bytes(tensor.element, run))


def _run(tensor: BoundTensor, spans: Sequence[int]) -> int:
    """Elements next to each other in row-major order, innermost whole dimensions joined."""
    run = 1
    for extent, span in zip(reversed(tensor.shape), reversed(spans), strict=True):
        run *= span
        if span != extent:
            break
    return min(run, tensor.contiguous) if tensor.contiguous else run
