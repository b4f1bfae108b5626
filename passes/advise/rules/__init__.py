"""The rules, in the order in which they are tried. One file and one entry adds a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.rules import (
    conversion,
    fused_attention,
    gather,
    issue,
    launch,
    layout,
    overlap,
    precision,
    reread,
    special_functions,
    spill,
    split_reduction,
    standalone_copy,
    tiling,
    unfuse,
)
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target

# Of two rules that end at the same tile the first one names the cause.
_MODULES: tuple[ModuleType, ...] = (
    *(fused_attention, reread, spill, overlap, tiling, split_reduction, unfuse),
    *(standalone_copy, layout, gather),
    *(precision, conversion, special_functions, issue, launch),
)


@dataclass(frozen=True)
class Rule:
    """One kind of advice; `explanation` is the docstring of its file.

    `ceiling` is the picoseconds that a launch can save at most, in closed form from its run on
    the target: where that is too little nothing is proposed, so nothing simulated. One that
    `searches` may have to simulate before it knows that it has nothing to propose.
    """

    name: str
    category: str
    explanation: str
    ceiling: Callable[[KernelRun, Target], int]
    propose: Callable[[Case], Iterator[Proposal]]
    searches: bool = False


RULES: tuple[Rule, ...] = tuple(
    Rule(
        module.NAME,
        module.CATEGORY,
        module.__doc__ or "",
        module.ceiling,
        module.propose,
        getattr(module, "SEARCHES", False),
    )
    for module in _MODULES
)
