"""Places of computations that the input spells out more than once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from iree.compiler import ir

from xpu_shark.passes.bridge.find_repeats import repeats

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
DOT = "stablehlo.dot {}, {} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>"


def program(*lines: str) -> str:
    """A function over %x and %y; line n is at model.py:n:1 and the last one's value is returned."""
    body = "\n".join(f'  %{n} = {line} loc("model.py":{n}:1)' for n, line in enumerate(lines, 1))
    head = "func.func @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {"
    return f"{head}\n{body}\n  return %{len(lines)} : tensor<8x8xf32>\n}}\n"


def found(text: str) -> list[tuple[str, str]]:
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        return list(repeats(ir.Module.parse(text).operation))


def test_equal_ops_on_equal_operands_repeat_also_where_operands_are_repeats() -> None:
    add = "stablehlo.add {}, {} : tensor<8x8xf32>"
    text = program(
        DOT.format("%x", "%y"),
        DOT.format("%x", "%y"),
        add.format("%1", "%x"),
        add.format("%2", "%x"),
    )
    assert found(text) == [("model.py:1:1", "model.py:2:1"), ("model.py:3:1", "model.py:4:1")]


def test_other_operands_order_or_attributes_do_not_repeat() -> None:
    turn = "stablehlo.transpose %x, dims = [{}] : (tensor<8x8xf32>) -> tensor<8x8xf32>"
    text = program(
        DOT.format("%x", "%y"), DOT.format("%y", "%x"), turn.format("0, 1"), turn.format("1, 0")
    )
    assert found(text) == []


def test_a_dispatch_lists_every_place_that_was_merged_into_it(run: Run, tmp_path: Path) -> None:
    lines = (
        DOT.format("%x", "%y"),
        DOT.format("%x", "%y"),
        "stablehlo.add %1, %2 : tensor<8x8xf32>",
    )
    (tmp_path / "twice.mlir").write_text(program(*lines))
    done = run("simulate", "twice.mlir", "--xpu-target=tiny", "--xpu-effort=low", "--format=jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    (dispatch,) = (row for row in rows if row["type"] == "dispatch")
    assert dispatch["locations"] == ["model.py:1:1", "model.py:2:1"]
