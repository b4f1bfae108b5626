from __future__ import annotations

import pytest
from iree.compiler import ir

from xpu_shark.passes.bridge.locations import source_location, source_sites


def location(text: str) -> ir.Location:
    """The location that `loc(<text>)` spells, read from an op that carries it."""
    module = ir.Module.parse(f"module {{ util.global private @g : i32 loc({text}) }}")
    (op,) = module.body.operations
    return op.operation.location


def shown(text: str) -> str:
    with ir.Context():
        return source_location(location(text))


def sites(text: str) -> tuple[str, ...]:
    with ir.Context():
        return source_sites(location(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"model.mlir":12:8', "model.mlir:12:8"),
        ('"model.py":22:6 to :30', "model.py:22:6"),
        ('"<string>":3:1', "<string>:3:1"),
        ('"-":4:5', "-:4:5"),
        ('"dot"("model.py":1:2)', "model.py:1:2"),
        ("unknown", ""),
        ('"just a name"', ""),
        ('"model.mlir":0:0', ""),
    ],
)
def test_a_plain_location_is_its_file_line_and_column(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_an_op_in_a_function_that_was_called_is_shown_at_its_own_line() -> None:
    assert shown('callsite("attn"("net.py":5:1) at callsite("net.py":90:2 at "main.py":4:1))') == (
        "net.py:5:1"
    )


def test_frames_in_installed_packages_are_passed_over_for_the_model() -> None:
    library = '"/usr/lib/python3/site-packages/flax/linear.py":200:7'
    assert shown(f'callsite({library} at "model.py":31:4)') == "model.py:31:4"


def test_a_framework_s_mlir_is_passed_over_for_the_model() -> None:
    assert shown('callsite("exported.mlir":7:3 at "model.py":31:4)') == "model.py:31:4"


def test_with_nothing_better_the_op_s_own_line_is_shown() -> None:
    library = '"/env/dist-packages/lib.py":9:1'
    assert shown(f'callsite({library} at "exported.mlir":2:3)') == "/env/dist-packages/lib.py:9:1"


def test_a_fused_location_shows_its_first_line_and_lists_each_once() -> None:
    fused = 'fused["m.py":10:3, unknown, "m.py":22:7, "again"("m.py":10:3)]'
    assert shown(fused) == "m.py:10:3"
    assert sites(fused) == ("m.py:10:3", "m.py:22:7")


def test_a_fused_call_lists_the_lines_inside_it() -> None:
    assert sites('callsite(fused["a.py":5:1, "b.py":9:2] at "m.mlir":4:1)') == (
        "a.py:5:1",
        "b.py:9:2",
    )


def test_an_unknown_callee_is_shown_where_it_was_called() -> None:
    assert sites('callsite(fused[unknown, "x"] at "m.mlir":4:1)') == ("m.mlir:4:1",)
