"""The op that distributes a dispatch, in the loops in which its `lowering_config` counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from xpu_shark.passes.advise.case import Case
from xpu_shark.simulator import tiling as tilings
from xpu_shark.simulator.bind import BoundNest
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.workload import Contraction

_LEVEL = re.compile(r"\b(\w+) = \[([\d, ]+)\]")


@dataclass(frozen=True)
class Op:
    """One entry a loop: `extents`, whether it is `free` (no reduction), the kernel's axis, and
    `now`, the tile that the config says. `around` are the axes of parallel loops around the op, of
    which every turn is a workgroup's own. `products` are in the op's loops, `elements` the types
    of its operands."""

    config: str
    extents: tuple[int, ...]
    free: tuple[bool, ...]
    axes: tuple[int, ...]
    now: tuple[int, ...]
    around: tuple[int, ...]
    products: tuple[Contraction, ...]
    elements: tuple[str, ...]

    def tile(self, tiling: Tiling) -> tuple[int, ...]:
        return tuple(tiling.tile[axis] for axis in self.axes)

    @cached_property
    def levels(self) -> dict[str, list[int]]:
        """Sizes by name, as written."""
        return {
            name: [int(size) for size in sizes.split(",")]
            for name, sizes in _LEVEL.findall(self.config)
            if name != "promote_operands"
        }

    def replaced(self, **levels: Sequence[int]) -> str:
        """The config with these levels' sizes."""
        text = self.config
        for name, sizes in levels.items():
            text = re.sub(rf"\b{name} = \[[^\]]*\]", f"{name} = {list(sizes)}", text)
        return text


def main_op(case: Case) -> Op | None:
    """The op whose `lowering_config` distributes the dispatch: it has most levels. One that is
    several nests (attention) has the loops of all of them."""
    nests = [nest for nest in case.kernel.nests if nest.tiles]
    main = max(nests, key=lambda nest: (len(nest.tiles), nest.points), default=None)
    if main is None:
        return None
    parts = [nest for nest in nests if nest.config == main.config and nest.loops] or [main]
    loops: dict[int, tuple[int, int]] = {}
    around: list[int] = []
    for nest in parts:
        for place, loop in enumerate(nest.loops or range(len(nest.extents))):
            if loop >= 0:
                loops[loop] = (nest.axes[place], nest.extents[place])
            else:
                around.append(nest.axes[place])
    if sorted(loops) != list(range(len(loops))):
        return None
    axes = tuple(loops[loop][0] for loop in range(len(loops)))
    own = tilings.choose(case.kernel, case.target, "ir")
    return Op(
        config=main.config,
        extents=tuple(loops[loop][1] for loop in range(len(loops))),
        free=tuple(case.kernel.axes[axis].parallel for axis in axes),
        axes=axes,
        now=tuple(own.tile[axis] for axis in axes),
        around=tuple(around),
        products=tuple(_product(nest) for nest in parts if nest.contraction is not None),
        elements=_elements(case, parts),
    )


def _product(nest: BoundNest) -> Contraction:
    dims = nest.contraction
    assert dims is not None
    loops = nest.loops or tuple(range(len(nest.extents)))
    roles = {role: getattr(dims, role) for role in ("batch", "m", "n", "k")}
    moved = {
        role: tuple(loops[dim] for dim in found if loops[dim] >= 0) for role, found in roles.items()
    }
    return msgspec.structs.replace(dims, **moved)


def _elements(case: Case, parts: Sequence[BoundNest]) -> tuple[str, ...]:
    tensors = {access.tensor for nest in parts for access in (*nest.reads, *nest.writes)}
    kinds = (case.kernel.tensors[tensor] for tensor in sorted(tensors))
    return tuple(dict.fromkeys(kind.element for kind in kinds if kind.is_global))
