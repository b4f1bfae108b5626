"""A kernel in a few words, for people: its main nest, that nest's sizes, its element type."""

from __future__ import annotations

from math import prod

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.tilers.granule import root


def describe(kernel: BoundKernel, target: Target) -> str:
    """For example "matmul 128x768x3072 bf16", "reduction 128x768 f32", "copy 768x3072 f32"."""
    nest = root(kernel, target)
    sizes = "x".join(map(str, _sizes(nest))) or "scalar"
    return f"{_name(nest)} {sizes} {_element(kernel, nest)}".strip()


def _name(nest: BoundNest) -> str:
    name = nest.name.rpartition(".")[2]
    if name != "generic":
        return name
    if nest.contraction is not None:
        return _contraction(nest)
    if not all(nest.parallel):
        return "reduction"
    return "elementwise" if nest.work else "copy"


def _contraction(nest: BoundNest) -> str:
    dims = nest.contraction
    assert dims is not None
    windows = [
        index
        for index in nest.reads[dims.lhs].map + nest.reads[dims.rhs].map
        if len(index.terms) > 1
    ]
    if windows:
        return "convolution"
    if not dims.m or not dims.n:
        return "batch_matvec" if dims.batch else "matvec"
    return "batch_matmul" if dims.batch else "matmul"


def _sizes(nest: BoundNest) -> list[int]:
    """Batch x m x n x k of a product, else the loops."""
    dims = nest.contraction
    if dims is None or _name(nest) == "convolution":
        return list(nest.extents)
    roles = (dims.batch, dims.m, dims.n, dims.k)
    return [prod(nest.extents[dim] for dim in role) for role in roles if role]


def _element(kernel: BoundKernel, nest: BoundNest) -> str:
    if nest.contraction is not None:
        pair = (nest.contraction.lhs_element, nest.contraction.rhs_element)
        return pair[0] if pair[0] == pair[1] else " by ".join(pair)
    # What a point-wise nest makes is what it is about: a mask or an index may come first.
    results_first = all(nest.parallel)
    touched = [*nest.writes, *nest.reads] if results_first else [*nest.reads, *nest.writes]
    return kernel.tensors[touched[0].tensor].element if touched else ""
