"""A tiling as IREE spells it, and which tilings its code generator takes.

What the tiling does not set stays as IREE chose it: instruction, promoted operands, vector sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType

from xpu_shark.passes.advise.case import Case
from xpu_shark.passes.advise.spellings import (
    attention,
    cpu,
    distribute,
    matrix_cores,
    rows,
    subgroup_basis,
    threads,
)
from xpu_shark.passes.advise.spellings.op import Op, main_op
from xpu_shark.simulator.plan import Tiling

Spell = Callable[[Case, Op, Sequence[int]], str | None]
_GPU = (matrix_cores, subgroup_basis, attention, rows, threads, distribute)
# By backend; the first that `takes` the op.
SPELLINGS: dict[str, tuple[ModuleType, ...]] = {"llvm-cpu": (cpu,), "rocm": _GPU, "cuda": _GPU}


def config(case: Case, tiling: Tiling) -> str:
    """The `lowering_config` of the kernel's main op with the tiling's sizes; empty where IREE
    does not program the target, or would refuse it."""
    op, spell = _speller(case)
    text = spell(case, op, op.tile(tiling)) if op and spell else None
    return f"({text})" if text else ""


def allowed(case: Case) -> Callable[[Tiling], bool]:
    """Whether a tiling has a `lowering_config` that IREE takes. Where IREE does not program the
    target all are; where it does and gives the kernel none, there is no place for a tile."""
    op, spell = _speller(case)
    if op is None or spell is None:
        known = (
            case.kernel.backend in case.target.iree.backends and case.kernel.backend in SPELLINGS
        )
        return lambda _: not known
    return lambda tiling: (
        all(tiling.tile[axis] == 1 for axis in op.around)
        and spell(case, op, op.tile(tiling)) is not None
    )


def _speller(case: Case) -> tuple[Op | None, Spell | None]:
    """The op that distributes the dispatch, and how its tiles are spelled, where that is known."""
    backend = case.kernel.backend
    if backend not in case.target.iree.backends:
        return None, None
    op = main_op(case)
    for module in SPELLINGS.get(backend, ()) if op else ():
        if module.takes(op):
            return op, module.spell
    return op, None
