"""Tries go to what can be proved, where it could save most."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cases import case
from kernels import elementwise

from xpu_shark.passes.advise import trials
from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.rules import Rule
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator.result import Dispatch, Function
from xpu_shark.simulator.target import load

CASE = case(elementwise(4096, 4096), "tiny")
MOST = trials.MOST_TRIED["default"]


def propose(_: Case) -> Iterator[Proposal]:
    yield Proposal("it", "another", ((CASE.kernel, CASE.run.plan),), "high")


def silent(_: Case) -> Iterator[Proposal]:
    yield from ()


def rule(name: str, *, speaks: bool, searches: bool = False) -> Rule:
    proposing = propose if speaks else silent
    return Rule(name, "", "", lambda run, _: run.time_ps, proposing, searches)


def tried(monkeypatch: pytest.MonkeyPatch, rules: tuple[Rule, ...]) -> list[str]:
    """Names of rules that propose for one dispatch, at default effort."""
    monkeypatch.setattr(trials, "RULES", rules)
    function = Function(
        name="main",
        location="",
        time_ps=CASE.run.time_ps,
        bound_ps=0,
        serial_ps=0,
        dispatches=1,
        modelled=1,
        launches=1,
        unmodelled=(),
        unknown=(),
    )

    def case_of(_: Dispatch) -> Case:
        return CASE

    found = trials.trials(function, [CASE.dispatch], Analysis(target=load("tiny")), case_of)
    return [trial.rule.name for _, each in found for trial in each]


def test_a_rule_with_nothing_to_say_takes_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST is not None
    rules = tuple(rule(f"silent{n}", speaks=False) for n in range(MOST))
    assert tried(monkeypatch, (*rules, rule("last", speaks=True))) == ["last"]


@pytest.mark.parametrize("speaks", [True, False])
def test_one_that_searches_or_speaks_takes_a_turn(
    monkeypatch: pytest.MonkeyPatch, *, speaks: bool
) -> None:
    assert MOST is not None
    rules = tuple(rule(f"first{n}", speaks=speaks, searches=True) for n in range(MOST))
    assert "last" not in tried(monkeypatch, (*rules, rule("last", speaks=True)))
