"""`xpu-shark simulate`: IREE up to the kernels, then a report."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from xpu_shark.compiler.simulate_main import default_device

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
TINY = "--xpu-target=tiny"


def test_a_device_is_chosen_where_none_is_given(run: Run, matmul: str, tmp_path: Path) -> None:
    done = run("simulate", matmul, TINY, "--format=jsonl")
    assert done.returncode == 0, done.stderr
    first, *rest = map(json.loads, done.stdout.splitlines())
    assert (first["type"], first["target"], first["source"]) == ("run", "tiny", matmul)
    assert [row["name"] for row in rest if row["type"] == "function"] == ["main"]
    assert list(tmp_path.iterdir()) == []


def test_standard_input_is_read_for_a_device_and_again_to_compile(run: Run, matmul: str) -> None:
    done = run("simulate", "-", TINY, "--format=jsonl", stdin=Path(matmul).read_bytes())
    assert (done.returncode, done.stdout.count(b'"type":"function"')) == (0, 1)


def test_a_device_of_the_users_is_left_alone(matmul: str, tmp_path: Path) -> None:
    own = tmp_path / "own.mlir"
    own.write_text("module attributes {hal.device.targets = []} {}")
    assert default_device([str(own)]) == ()
    assert default_device([matmul, "--iree-hal-target-backends=vulkan-spirv"]) == ()
    assert "--iree-hal-target-device=local" in default_device([matmul])


def test_failures_are_irees_own(run: Run, iree_compile: Run) -> None:
    bad = b"func.func @f() { foo }"
    ours, plain = run("simulate", "-", TINY, stdin=bad), iree_compile("-", stdin=bad)
    assert (ours.returncode, ours.stdout, ours.stderr) == (1, b"", plain.stderr)


def test_a_pass_at_fault_gives_no_report(run: Run, matmul: str) -> None:
    done = run("simulate", matmul, TINY, "--xpu-passes=test-erase-and-fail")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.count(b"\n") == 1


def test_a_mode_without_phases_cannot_be_simulated(run: Run, matmul: str) -> None:
    done = run("simulate", matmul, TINY, "--compile-mode=precompile")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1


def test_what_advice_comes_to_is_said_where_there_is_none_too(run: Run, matmul: str) -> None:
    text = run("simulate", matmul, "--xpu-target=tpu_v6e").stdout.decode()
    assert text.splitlines()[-1].startswith("  main on tpu_v6e: ")
    quiet = run("simulate", matmul, "--xpu-target=tpu_v6e", "--xpu-effort=low").stdout.decode()
    assert text.startswith(quiet)
    assert "main on tpu_v6e: " not in quiet
