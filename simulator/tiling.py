"""Chooses the tiling to simulate: the IR's, or what the chip's own compiler would pick."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.target import Target

# Level names of the IR, by what they mean here: the tile that one core holds, and the step along
# reduction axes. The first that is present counts. Many cores share out workgroups; on a single
# core a workgroup is only the outermost loop, and the tile is what the innermost ones leave.
PARALLEL_LEVELS = {
    "waves": ("workgroup", "distribution", "level0", "cache_parallel"),
    "sequential": (
        *("cache_parallel", "vector_common_parallel"),
        *("workgroup", "distribution", "level0"),
    ),
}
# Not llvm-cpu's vector_reduction: how many elements pass through registers at a time, while the
# memory beside the core holds the operands whole.
REDUCTION_LEVELS = ("reduction", "partial_reduction", "level2", "cache_reduction")


def choose(kernel: BoundKernel, target: Target, mode: str) -> Tiling:
    """`mode` is "ir" or "default". A tile pinned in the IR wins over the target's own tiler."""
    nest = _configured(kernel)
    if nest is not None and (
        nest.pinned or (mode == "ir" and kernel.backend in target.iree.backends)
    ):
        return _from_ir(kernel, nest, target)
    return own(kernel, target)


def own(kernel: BoundKernel, target: Target) -> Tiling:
    """What the chip's own compiler or library would pick: `choose` of `tilers/<tiler>.py`, of
    which only the one at hand is imported."""
    module = import_module(f"xpu_shark.simulator.tilers.{target.tiler}")
    tiler: Callable[[BoundKernel, Target], Tiling] = module.choose
    return tiler(kernel, target)


def _configured(kernel: BoundKernel) -> BoundNest | None:
    """The nest whose lowering_config distributes the dispatch: the one with most levels."""
    nests = [nest for nest in kernel.nests if nest.tiles]
    return max(nests, key=lambda nest: (len(nest.tiles), nest.points), default=None)


def _from_ir(kernel: BoundKernel, nest: BoundNest, target: Target) -> Tiling:
    """Where a core has registers of its own, the reduction step of a nest that is no product
    only says how many elements a thread adds at a time: memory hands out the whole row."""
    levels = {level.name: level.sizes for level in nest.tiles}
    tile = [max(axis.extent, 1) for axis in kernel.axes]
    steps = () if target.register_bytes and nest.contraction is None else REDUCTION_LEVELS
    for names, parallel in ((PARALLEL_LEVELS[target.execution], True), (steps, False)):
        sizes = next((levels[name] for name in names if any(levels.get(name, ()))), ())
        for dim, size in enumerate(sizes[: len(nest.axes)]):
            if size and nest.parallel[dim] == parallel:
                axis = nest.axes[dim]
                tile[axis] = min(tile[axis], size)
    order = tuple(a for a in dict.fromkeys(nest.axes) if kernel.axes[a].parallel)
    rest = tuple(a for a, axis in enumerate(kernel.axes) if axis.parallel and a not in order)
    return Tiling(tuple(tile), (*order, *rest), "ir")
