"""The command itself: help, subcommands, and what is never imported for them."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from xpu_shark.compiler.main import main


@pytest.mark.parametrize(
    "args", [["--help"], ["targets"], ["targets", "tiny"], ["compile", "--xpu-nothing"], ["nope"]]
)
def test_iree_is_not_imported(args: list[str]) -> None:
    check = (
        "import sys\nfrom xpu_shark.compiler.main import main\n"
        f"main({args!r})\n"
        "sys.exit(any(name.partition('.')[0] == 'iree' for name in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", check], check=False, capture_output=True)
    assert run.returncode == 0, run.stderr


def test_help_names_every_command_and_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for word in ("compile", "simulate", "targets", "tool-path", "--xpu-target", "--xpu-dim"):
        assert word in text


@pytest.mark.parametrize("command", ["simulate", "explain", "targets", "tool-path"])
def test_a_command_without_a_parser_has_help_too(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"usage: xpu-shark {command}")
    assert not err


def test_the_version_names_the_compiler_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"xpu-shark {metadata.version('xpu-shark')} (iree-base-compiler ")
    assert metadata.version("iree-base-runtime") in said


def test_no_command_shows_the_help_and_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: xpu-shark" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["compil"], "unknown command 'compil', did you mean 'compile'?"),
        (["targets", "tinny"], "unknown target 'tinny', did you mean 'tiny'?"),
        (["targets", "a", "b"], "usage: xpu-shark targets [NAME|FILE.toml]"),
        (["tool-path", "x"], "usage: xpu-shark tool-path"),
        (["simulate", "a.mlir"], "--xpu-target=NAME|FILE.toml is missing"),
        (["simulate", "a.mlir", "--format=xml"], "--format=xml: expected text or jsonl"),
        (
            ["simulate", "a.xputrace", "--xpu-target=tiny"],
            "a.xputrace: No such file or directory",
        ),
    ],
)
def test_a_bad_argument_is_one_line_and_exit_code_2(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert said.err.count("\n") == 1


def test_targets_lists_names_with_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("tiny ") and "hand-countable" in line for line in lines)


def test_a_target_is_shown_with_its_comments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets", "tiny"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# tiny: ")
    assert "schema = 1" in text


def test_a_broken_target_file_is_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("schema = 1\nname = 'x'\nmystery = 3\n")
    assert main(["targets", str(broken)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "broken.toml" in said.err


@pytest.mark.parametrize("module", ["main", "opt_main"])
def test_a_reader_that_has_seen_enough_is_no_fault(module: str) -> None:
    command = f"{sys.executable} -m xpu_shark.compiler.{module} --help"
    shell = ["bash", "-c", f"{command} | exec true; exit ${{PIPESTATUS[0]}}"]
    done = subprocess.run(shell, check=False, capture_output=True)
    assert done.stderr == b""
    assert done.returncode in (0, 1)  # 0 where all was written before the reader left
