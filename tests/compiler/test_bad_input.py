"""Inputs and values that are not right, or hold nothing: what is said, and how it ends."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
INPUTS = Path(__file__).parents[1] / "inputs"
TINY = "--xpu-target=tiny"
CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
LOOP = str(INPUTS / "counted_loop.mlir")
ROWS = str(INPUTS / "dynamic_rows.mlir")


@pytest.mark.parametrize("command", ["compile", "simulate"])
@pytest.mark.parametrize(
    ("path", "why"), [("missing.mlir", "No such file"), (".", "Is a directory")]
)
def test_an_input_that_cannot_be_read_is_one_line_before_compiling(
    run: Run, tmp_path: Path, command: str, path: str, why: str
) -> None:
    done = run(command, path, TINY, "-o", "out.vmfb")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"xpu-shark: error: {path}: cannot be read: {why}")
    assert (done.stderr.count(b"\n"), list(tmp_path.iterdir())) == (1, [])


def test_a_pipe_with_a_name_is_read_once_and_in_full(
    run: Run, iree_compile: Run, matmul: str, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(Path(matmul).read_bytes()))
    writer.start()
    done = run("compile", "pipe", "-o", "out.vmfb", TINY, *CPU)
    writer.join()
    assert done.returncode == 0, done.stderr
    assert b"remark: [xpu-shark.summary] main on tiny takes" in done.stderr


def test_a_module_without_a_program_fails_as_in_iree_compile_and_says_so_once(
    run: Run, iree_compile: Run, tmp_path: Path
) -> None:
    (tmp_path / "empty.mlir").write_text("module {}")
    ours = run("compile", "empty.mlir", "-o", "out.vmfb", TINY, *CPU)
    plain = iree_compile("empty.mlir", "-o", "out.vmfb", *CPU)
    said = b"remark: [xpu-shark.summary] no function found, nothing to simulate on tiny\n"
    assert said in ours.stderr
    assert (ours.returncode, ours.stderr.replace(said, b"")) == (plain.returncode, plain.stderr)
    assert not (tmp_path / "out.vmfb").exists()


def test_a_report_on_nothing_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.mlir").write_text("module {}")
    done = run("simulate", "empty.mlir", TINY)
    assert done.stdout == b"no function found, nothing to simulate on tiny\n"


def test_a_dim_that_the_program_does_not_have_is_said_with_those_it_has(run: Run) -> None:
    done = run("simulate", ROWS, TINY, "--xpu-dim=input0.0=8", "--xpu-dim=inptu0.0=9")
    assert done.returncode == 0
    assert done.stderr.count(b"\n") == 1
    assert b"--xpu-dim=inptu0.0: no size, loop or branch has this name (known: input" in done.stderr


def test_a_dim_past_the_largest_index_is_refused(run: Run) -> None:
    done = run("simulate", ROWS, TINY, "--xpu-dim=input0.0=9223372036854775808")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"at most 9223372036854775807" in done.stderr


def test_a_broken_filter_of_the_pass_tool_is_refused(opt: Run, matmul: str) -> None:
    done = opt(matmul, "--passes=xpu-report-limits", "--remarks-filter=(")
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    assert b"--remarks-filter=(: not a regex" in done.stderr
