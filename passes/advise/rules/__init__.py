"""The rules, in the order in which they are tried. One file and one entry adds a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.rules import precision, split_reduction, tiling

_MODULES: tuple[ModuleType, ...] = (tiling, split_reduction, precision)


@dataclass(frozen=True)
class Rule:
    """One kind of advice; `explanation` is the docstring of its file."""

    name: str
    category: str
    explanation: str
    propose: Callable[[Case], Iterator[Proposal]]


RULES: tuple[Rule, ...] = tuple(
    Rule(module.NAME, module.CATEGORY, module.__doc__ or "", module.propose) for module in _MODULES
)
