"""Which rules are asked about which dispatches: where they could save most, while tries last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.rules import RULES, Rule
from xpu_shark.passes.module_pass import Analysis, Effort
from xpu_shark.simulator.result import Dispatch, Function

LEAST_SHARE = 0.01  # of the function's time: less is not worth a reader's line
# Share of a function's time that a rule must be able to save on a dispatch to be tried on it, and
# on how many dispatches of a function each rule and all of them are, where they could save most.
WORTH_TRYING: dict[Effort, float] = {"low": 1.0, "default": 0.02, "high": LEAST_SHARE}
MOST_OF_A_RULE: dict[Effort, int | None] = {"low": 0, "default": 2, "high": None}
MOST_TRIED: dict[Effort, int | None] = {"low": 0, "default": 12, "high": None}


@dataclass(frozen=True)
class Trial:
    """What one rule proposes for one dispatch: one or more proposals."""

    rule: Rule
    proposals: tuple[Proposal, ...]


def trials(
    function: Function,
    dispatches: Sequence[Dispatch],
    analysis: Analysis,
    case_of: Callable[[Dispatch], Case],
) -> Iterator[tuple[Case, list[Trial]]]:
    """Dispatches with what is proposed for them, in the order of `RULES`.

    A rule that sees at once that it has nothing to say has had no turn: it costs next to nothing,
    and the tries go to what can be proved.
    """
    left, most = MOST_TRIED[analysis.effort], MOST_OF_A_RULE[analysis.effort]
    turns: Counter[int] = Counter()
    cases: dict[int, Case] = {}
    found: dict[int, dict[int, Trial]] = {}
    for number, place in _promising(function, dispatches, analysis):
        if left is not None and sum(turns.values()) >= left:
            break
        if most is not None and turns[place] >= most:
            continue
        if number not in cases:
            cases[number] = case_of(dispatches[number])
        proposals = tuple(RULES[place].propose(cases[number]))
        turns[place] += bool(proposals) or RULES[place].searches
        if proposals:
            found.setdefault(number, {})[place] = Trial(RULES[place], proposals)
    for number, by_rule in found.items():
        yield cases[number], [by_rule[place] for place in sorted(by_rule)]


def _promising(
    function: Function, dispatches: Sequence[Dispatch], analysis: Analysis
) -> list[tuple[int, int]]:
    """Dispatches and rules, both by number, that could save enough of the function, most first."""
    least = WORTH_TRYING[analysis.effort] * (function.time_ps or 0)
    found = []
    for number, dispatch in enumerate(dispatches):
        if dispatch.run is None or dispatch.state != "modelled" or not function.time_ps:
            continue
        for place, rule in enumerate(RULES):
            most = rule.ceiling(dispatch.run, analysis.target) * dispatch.launches
            if most >= least and most:
                found.append((-most, number, place))
    return [(number, place) for _, number, place in sorted(found)]
