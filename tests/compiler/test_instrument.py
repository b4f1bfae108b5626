"""`xpu-shark compile --xpu-instrument`: what it needs, what it leaves alone, where it declines."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from xpu_shark.compiler.probing import arguments
from xpu_shark.compiler.read_plan import read_plan

DYNAMIC = str(Path(__file__).parents[1] / "inputs" / "dynamic_mlp.mlir")
CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
VMVX = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=vmvx")
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def test_off_adds_no_flag() -> None:
    assert arguments(["a.mlir", "-o", "b"], "off") == ["a.mlir", "-o", "b"]


def test_probes_need_the_ring_and_no_evaluation_while_compiling() -> None:
    added = ["--iree-opt-const-eval=false", "--iree-hal-instrument-dispatches=16mib"]
    assert arguments(["a.mlir"], "workgroup") == [*added, "a.mlir"]


def test_a_ring_size_given_is_kept_and_a_contradiction_is_not() -> None:
    given = ["--iree-hal-instrument-dispatches=1mib", "--iree-opt-const-eval=true"]
    assert arguments(given, "loop") == ["--iree-opt-const-eval=false", given[0]]


def test_off_is_byte_identical(run: Run, iree_compile: Run, tmp_path: Path) -> None:
    assert run("compile", DYNAMIC, *CPU, "--xpu-instrument=off", "-o", "ours").returncode == 0
    assert iree_compile(DYNAMIC, *CPU, "-o", "theirs").returncode == 0
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert read_plan(str(tmp_path / "ours")) is None


@pytest.mark.parametrize("mode", ["workgroup", "loop"])
def test_the_module_carries_its_plan(run: Run, tmp_path: Path, mode: str) -> None:
    result = run("compile", DYNAMIC, *CPU, f"--xpu-instrument={mode}", "-o", "out")
    assert (result.returncode, result.stderr) == (0, b"")
    plan = read_plan(str(tmp_path / "out"))
    assert plan is not None
    (export,) = plan.exports
    assert export.name.startswith("layer_dispatch_0_matmul")
    assert (export.sites > 0, export.loops > 0) == (mode == "loop", mode == "loop")


def test_the_same_input_gives_the_same_module(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        run("compile", DYNAMIC, *CPU, "--xpu-instrument=loop", "-o", name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_analysis_sees_the_program_without_probes(run: Run) -> None:
    analysis = (*CPU, "--xpu-target=tpu_v6e", "--xpu-dim=input0.0=33", "-o", "out")
    plain, probed = (
        run("compile", DYNAMIC, *analysis, f"--xpu-instrument={mode}") for mode in ("off", "loop")
    )
    assert b"1 modelled" in plain.stderr
    assert probed.stderr == plain.stderr


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_another_backend_is_compiled_as_ever_with_a_remark(
    run: Run, iree_compile: Run, tmp_path: Path, source: str
) -> None:
    text = Path(DYNAMIC).read_bytes() if source == "stdin" else b""
    name = "-" if source == "stdin" else DYNAMIC
    flags = ("--xpu-instrument=loop", "--remarks-output-file=remarks.yaml")
    ours = run("compile", name, *VMVX, *flags, "-o", "ours", stdin=text)
    assert ours.returncode == 0
    said = "[xpu-shark.coverage] vmvx: this backend takes no probes: record profile and replay"
    assert ours.stderr.decode().count(said) == 1
    assert "this backend takes no probes" in (tmp_path / "remarks.yaml").read_text()
    assert iree_compile(name, *VMVX, "-o", "theirs", stdin=text).returncode == 0
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_an_unknown_mode_is_refused_before_any_compiling(run: Run) -> None:
    result = run("compile", DYNAMIC, "--xpu-instrument=lop", "-o", "out")
    assert result.returncode == 2
    assert b"--xpu-instrument=lop: expected off, workgroup, loop" in result.stderr


def test_a_command_that_writes_no_module_refuses_probes(run: Run) -> None:
    result = run("simulate", DYNAMIC, "--xpu-target=tiny", "--xpu-instrument=loop")
    assert result.returncode == 2
    assert b"--xpu-instrument belongs to xpu-shark compile" in result.stderr


def test_a_compile_that_ends_before_the_kernels_says_so(run: Run) -> None:
    flags = ("--xpu-instrument=loop", "--compile-to=flow", "-o", "out")
    result = run("compile", DYNAMIC, *CPU, *flags)
    assert result.returncode == 0
    assert b"--compile-to=flow leaves it out" in result.stderr


FAULTY = """
import sys
from xpu_shark.compiler import main
from xpu_shark.passes.instrument import loop_probes

def fail(self, module, analysis):
    raise RuntimeError("planted")

loop_probes.LoopProbes.run = fail
sys.exit(main.main(sys.argv[1:]))
"""


def test_a_fault_of_ours_is_one_line_and_the_stock_result(
    iree_compile: Run, tmp_path: Path
) -> None:
    args = ("compile", DYNAMIC, *CPU, "--xpu-instrument=loop", "-o", "ours")
    command = [sys.executable, "-c", FAULTY, *args]
    child = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    fault, decision = child.stderr.splitlines()
    assert "pass xpu-loop-probes failed" in fault
    assert "planted" in fault
    assert decision == "xpu-shark: warning: compiled without probes"
    assert iree_compile(DYNAMIC, *CPU, "-o", "theirs").returncode == 0
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
