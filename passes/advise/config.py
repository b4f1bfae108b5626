"""A tiling as IREE spells it, for the backend that the kernel was configured for."""

from __future__ import annotations

from xpu_shark.passes.advise.case import Case
from xpu_shark.simulator.bind import BoundNest
from xpu_shark.simulator.plan import Tiling

# (attribute, its level for parallel dims, its level for reduction dims)
_SPELLINGS = {
    "llvm-cpu": ("#iree_cpu.lowering_config<{levels}>", "distribution", "vector_reduction"),
    "rocm": ("#iree_gpu.lowering_config<{{{levels}}}>", "workgroup", "reduction"),
    "cuda": ("#iree_gpu.lowering_config<{{{levels}}}>", "workgroup", "reduction"),
}


def config(case: Case, tiling: Tiling) -> str:
    """The `lowering_config` of the kernel's main nest; empty where IREE does not program the
    target, or where the tiles of its backend are spelled otherwise."""
    backend = case.kernel.backend
    if backend not in case.target.iree.backends or backend not in _SPELLINGS:
        return ""
    attribute, parallel, reduction = _SPELLINGS[backend]
    nest = max(case.kernel.nests, key=lambda nest: (len(nest.tiles), nest.points))
    levels = ", ".join(
        f"{name} = {_level(case, nest, tiling, kind)}"
        for name, kind in ((parallel, True), (reduction, False))
    )
    return f"({attribute.format(levels=levels)})"


def _level(case: Case, nest: BoundNest, tiling: Tiling, parallel: bool) -> list[int]:
    return [
        tiling.tile[axis] if case.kernel.axes[axis].parallel == parallel else 0
        for axis in nest.axes
    ]
