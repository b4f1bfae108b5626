"""The code in the rooms' READMEs runs and does what the text says."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from iree.compiler import ir

from xpu_shark.passes.bridge.ops import registry
from xpu_shark.passes.bridge.read_workload import read_workload
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator.target import load

ROOT = Path(__file__).parents[1]
Example = Callable[[str, int], dict[str, Any]]
NEGATE = """func.func @negate(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "my.negate"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}"""


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Example:
    """A document's n-th Python block as a module; gives its names."""

    def run(document: str, number: int) -> dict[str, Any]:
        code = blocks(document)[number]
        module = ModuleType("example")
        module.__dict__["re"] = re
        monkeypatch.setitem(sys.modules, "example", module)  # dataclasses look themselves up
        exec(compile(code, document, "exec"), module.__dict__)
        return module.__dict__

    return run


def blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def parsed(text: str) -> ir.Module:
    context = ir.Context()
    context.allow_unregistered_dialects = True
    with context:
        return ir.Module.parse(text)


def test_the_simulators_examples() -> None:
    names: dict[str, Any] = {}
    for code in blocks("simulator/README.md"):
        exec(code, names)
    # launch 10; load 5 + 8 and 20 of latency; 8 exponentials on 4 lanes: 8; store 13 + 20
    assert names["run"].time_ps == 84_000


def test_the_pass_says_how_many_kernels_there_are(example: Example) -> None:
    module = parsed(NEGATE)
    heard: list[dict[str, str]] = []
    module.context.enable_remarks(
        all_filter=".*", callback=lambda remark: heard.append(dict(remark.args))
    )
    passes = example("passes/README.md", 0)
    passes["CountKernels"]().run(module.operation, Analysis(target=load("tiny")))
    module.context.finalize_remarks()
    assert [remark["Remark"] for remark in heard] == ["1 kernels"]


def test_the_reader_makes_a_kernel_modelled(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = parsed(NEGATE)
    (without,) = read_workload(module.operation).kernels
    assert (without.state, without.reason) == ("partial", "no model of my.negate")
    readers = example("passes/bridge/README.md", 0)["READERS"]
    monkeypatch.setitem(registry.READERS, "my.negate", readers["my.negate"])
    (kernel,) = read_workload(module.operation).kernels
    (nest,) = kernel.nests
    assert (kernel.state, [work.kind for work in nest.work]) == ("modelled", ["add"])


def test_the_spelling_reads_both_levels(example: Example) -> None:
    parse = example("passes/bridge/README.md", 1)["parse"]
    text = "#my.lowering_config<{tile = [64, 64, 0], step = [0, 0, 32]}>"
    assert parse(text) == (("tile", (64, 64, 0)), ("step", (0, 0, 32)))
