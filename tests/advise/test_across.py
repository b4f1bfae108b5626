"""Advice on several dispatches in its three states, on programs by hand."""

from __future__ import annotations

import msgspec
import pytest
from test_dataflow import IN, KERNELS, OTHER, OUT, TEMP, W0, W1, exp, product

from xpu_shark.passes.advise import across
from xpu_shark.passes.annotate.report_limits import settings
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator.evaluate import simulate
from xpu_shark.simulator.result import Finding
from xpu_shark.simulator.target import Target, load
from xpu_shark.simulator.workload import Command, Function, Workload

replace = msgspec.structs.replace


def found(*body: Command, target: Target | None = None) -> list[Finding]:
    workload = Workload(kernels=KERNELS, functions=(Function(name="main", body=body),))
    analysis = Analysis(target=target or load("tiny"), workload=workload)
    return across.findings(simulate(workload, settings(analysis)), analysis, 0.01)


def test_products_of_one_operand_are_one_finding_with_both_names_and_their_time() -> None:
    [finding] = found(product(W0, OUT), product(W1, OTHER))
    assert (finding.rule, finding.state) == ("sibling_fusion", "active")
    assert finding.condition.endswith("read the same 16x16xf32, 2 of matmul")
    before, after = sum(run.time_ps for run in finding.before), finding.after[0].time_ps
    assert finding.saved_ps == before - after
    # The operand of 1 KiB is loaded once instead of twice.
    assert sum(run.bytes["hbm"] for run in finding.before) == 6 * 1024
    assert finding.after[0].bytes["hbm"] == 5 * 1024


def test_equal_groups_are_one_finding_with_all_they_save() -> None:
    [once] = found(product(W0, OUT), product(W1, OTHER))
    layer = (product(W0, TEMP), product(W1, OTHER), exp(TEMP, IN))
    [twice] = [f for f in found(*layer, *layer) if f.rule == "sibling_fusion"]
    assert twice.condition.endswith(", 2 times")
    assert twice.saved_ps == 2 * once.saved_ps


@pytest.mark.parametrize(("spread", "state"), [(0.1, "active"), (0.9, "indeterminate")])
def test_what_holds_for_some_rates_only_is_indeterminate(spread: float, state: str) -> None:
    # Each reader computes the exponentials again: with a tenth of the vector rate that is too much.
    tiny = load("tiny")
    target = replace(tiny, uncertainty=replace(tiny.uncertainty, compute=spread))
    body = (exp(IN, TEMP), exp(TEMP, OUT), exp(TEMP, OTHER))
    [finding] = [f for f in found(*body, target=target) if f.rule == "multi_use"]
    assert finding.state == state
    assert ("vector rate" in finding.depends_on) == (state == "indeterminate")


def test_past_the_ridge_and_without_a_common_operand_there_is_nothing_to_say() -> None:
    tiny = load("tiny")
    fast = replace(tiny.memory[0], bytes_per_s=1e15, peak_bytes_per_s=None)
    target = replace(tiny, memory=(fast, *tiny.memory[1:]))
    assert found(product(W0, OUT), product(W1, OTHER), target=target) == []
    assert found(product(W0, OUT), exp(W1, OTHER)) == []
