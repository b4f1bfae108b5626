"""What a framework would call the work of a function: targets have host costs by this kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xpu_shark.simulator.workload import Kernel, Nest


def operator_kind(kernels: Iterable[Kernel]) -> str | None:
    """The kind of operator that the kernels together amount to, by the structure of their loops:

    - `contraction`: a product is among them;
    - `softmax`: they reduce, compute as many results as they reduce, and take exponentials;
    - `normalisation`: the same without exponentials (layer norm, RMS norm);
    - `elementwise`: they reduce nothing.

    None for anything else, such as a sum.
    """
    nests = [nest for kernel in kernels for nest in kernel.nests]
    if any(nest.contraction for nest in nests):
        return "contraction"
    reduced = max(_ranks(nests, reduces=True), default=0)
    if not reduced:
        return "elementwise"
    if max(_ranks(nests, reduces=False), default=0) < reduced:
        return None
    exponential = any(work.kind == "exp" for nest in nests for work in nest.work)
    return "softmax" if exponential else "normalisation"


def _ranks(nests: Iterable[Nest], *, reduces: bool) -> Iterator[int]:
    """Loop dims of each nest that does, or does not, reduce."""
    for nest in nests:
        if any(dim.kind == "reduction" for dim in nest.dims) == reduces:
            yield len(nest.dims)
