"""Reading iree-compile's command line. `accepts` stands for LLVM: it knows three flags."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from xpu_shark.compiler.iree_flags import CommandLine, StockOnly, expand_response_files, read


def accepts(flags: Sequence[str]) -> bool:
    """LLVM with `--text VALUE`, and switches `--on` and `-n`."""
    rest = list(flags)
    while rest:
        name, equals, _ = rest.pop(0).lstrip("-").partition("=")
        if name == "text" and not equals:
            if not rest:
                return False
            rest.pop(0)
        elif name not in ("text", "on", "n"):
            return False
    return True


def command(*args: str) -> CommandLine:
    return read(args, accepts)


def test_defaults_are_those_of_iree_compile() -> None:
    assert command("a.mlir") == CommandLine(input="a.mlir")


@pytest.mark.parametrize("spelling", [["-o", "x"], ["-o=x"], ["--o=x"], ["-o", "y", "-o", "x"]])
def test_an_output_has_several_spellings_and_the_last_counts(spelling: list[str]) -> None:
    assert command(*spelling, "a.mlir").output == "x"


def test_a_value_in_an_argument_of_its_own_is_no_input() -> None:
    read_as = command("--text", "value", "a.mlir")
    assert (read_as.input, read_as.flags) == ("a.mlir", ("--text", "value"))


def test_an_argument_after_a_switch_is_the_input() -> None:
    read_as = command("--on", "a.mlir", "-n")
    assert (read_as.input, read_as.flags) == ("a.mlir", ("--on", "-n"))


def test_a_negative_number_can_be_a_value() -> None:
    assert command("a.mlir", "--text", "-1").flags == ("--text", "-1")


def test_standard_input_is_an_input() -> None:
    assert command("-", "--on").input == "-"


def test_an_input_may_follow_a_double_dash() -> None:
    assert command("--on", "--", "--odd-name.mlir").input == "--odd-name.mlir"


def test_the_drivers_own_options_are_not_for_llvm() -> None:
    args = "a.mlir --compile-to flow --compile-from=input --emit-mlir-bytecode --verify=false"
    assert command(*args.split()) == CommandLine(
        input="a.mlir", compile_to="flow", compile_from="input", bytecode=True, verify=False
    )


@pytest.mark.parametrize(
    "args",
    [
        "",
        "a.mlir b.mlir",
        "a.mlir --unknown",
        "a.mlir -o",
        "a.mlir --compile-to=nowhere",
        "a.mlir --output-format=x",
        "a.mlir --verify=maybe",
        "a.mlir --emit-mlir-bytecode-version=x",
        "a.mlir --text",
    ],
)
def test_what_iree_compile_refuses_is_left_to_it_without_a_word(args: str) -> None:
    with pytest.raises(StockOnly) as reason:
        command(*args.split())
    assert str(reason.value) == ""


@pytest.mark.parametrize("flag", ["--compile-mode=hal-executable", "--split-input-file"])
def test_a_mode_without_phases_is_left_to_iree_compile_with_a_reason(flag: str) -> None:
    with pytest.raises(StockOnly, match=f"analysis skipped: {flag}"):
        command("a.mlir", flag)


def test_response_files_are_expanded_as_deep_as_they_go(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text('"a b.mlir"\n')
    outer.write_text(f"--on @{inner} -o x")
    expanded = list(expand_response_files([f"@{outer}", "@missing"]))
    assert expanded == ["--on", "a b.mlir", "-o", "x", "@missing"]
