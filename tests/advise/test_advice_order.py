"""The same advice, whatever order things come in."""

from __future__ import annotations

import msgspec
import pytest
from kernels import elementwise, matmul, softmax

from xpu_shark.passes.advise.give_advice import GiveAdvice, apart, remarks
from xpu_shark.passes.advise.trials import MOST_OF_A_RULE
from xpu_shark.passes.annotate.report_limits import settings
from xpu_shark.passes.module_pass import Analysis, Effort
from xpu_shark.simulator.evaluate import simulate
from xpu_shark.simulator.result import Finding
from xpu_shark.simulator.symbolic import symbol
from xpu_shark.simulator.target import load
from xpu_shark.simulator.workload import Function, Kernel, Launch, Workload


def named(kernel: Kernel, name: str) -> Kernel:
    return msgspec.structs.replace(kernel, name=name)


KERNELS = (
    named(matmul(16, 16, 65536), "long"),
    named(matmul(96, 96, 96, tiles=(16, 16, 96)), "pinned"),
    named(softmax(64, 1024), "rows"),
    named(elementwise(7), "small"),
)


def advised(kernels: tuple[Kernel, ...], target: str, effort: Effort) -> list[Finding]:
    body = tuple(Launch(kernel=kernel.name) for kernel in KERNELS)
    analysis = Analysis(target=load(target), effort=effort)
    analysis.workload = Workload(kernels=kernels, functions=(Function(name="main", body=body),))
    analysis.report = simulate(analysis.workload, settings(analysis))
    [function] = analysis.report.functions
    found = GiveAdvice()._function(function, analysis.report, analysis)
    return sorted(found, key=lambda finding: finding.id)


@pytest.mark.parametrize("target", ["tiny", "mi300x"])
def test_advice_does_not_depend_on_the_order_of_kernels(target: str) -> None:
    forwards = advised(KERNELS, target, "default")
    assert forwards
    assert advised(KERNELS[::-1], target, "default") == forwards


def test_ids_are_unique_and_name_rule_function_and_dispatch() -> None:
    found = advised(KERNELS, "mi300x", "high")
    assert len({finding.id for finding in found}) == len(found)
    for finding in found:
        rule, _, rest = finding.id.partition(":")
        assert rule.rstrip("0123456789") == finding.rule
        assert rest == f"main.{finding.dispatch}"


def test_findings_at_one_place_of_the_source_have_names_of_their_own() -> None:
    one, other, *_ = advised(KERNELS, "mi300x", "high")
    names = [finding.id for finding in apart([one, other, one, one])]
    assert names == [one.id, other.id, f"{one.id}.2", f"{one.id}.3"]


def test_no_rule_takes_all_turns_at_default_effort() -> None:
    found = advised(KERNELS, "mi300x", "default")
    dispatches = {(finding.rule, finding.dispatch) for finding in found}
    for rule in {rule for rule, _ in dispatches}:
        most = MOST_OF_A_RULE["default"]
        assert most is not None
        assert len([pair for pair in dispatches if pair[0] == rule]) <= most


def test_a_dispatch_without_a_size_is_indeterminate_by_name() -> None:
    free = elementwise(8)
    dim = msgspec.structs.replace(free.nests[0].dims[0], extent=symbol("n"))
    nest = msgspec.structs.replace(free.nests[0], dims=(dim,))
    kernel = named(msgspec.structs.replace(free, nests=(nest,)), "free")
    analysis = Analysis(target=load("tiny"))
    body = (Launch(kernel="free"),)
    analysis.workload = Workload(kernels=(kernel,), functions=(Function(name="main", body=body),))
    analysis.report = simulate(analysis.workload, settings(analysis))
    [remark] = remarks(analysis.report)
    assert remark.message == (
        "main on tiny: advice needs a time; indeterminate for 1 dispatch (free: no value for n)"
    )
