"""Fills and copies of the host program, as kernels without arithmetic."""

from __future__ import annotations

from xpu_shark.simulator.workload import Access, Dim, Index, Kernel, Nest, Tensor


def move_kernel(kind: str, bytes: int) -> Kernel:
    """`bytes` written ("fill"), or read and written ("copy")."""
    row = Access(tensor=0, map=(Index(terms=((0, 1),)),))
    target = Access(tensor=1, map=row.map)
    tensor = Tensor(shape=(bytes,), element="i8", storage="global")
    nest = Nest(
        name=kind,
        dims=(Dim(extent=bytes, kind="parallel"),),
        reads=() if kind == "fill" else (row,),
        writes=(target,),
        work=(),
    )
    return Kernel(name=kind, tensors=(tensor, tensor), nests=(nest,))
