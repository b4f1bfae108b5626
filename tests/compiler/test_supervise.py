"""A crash of the analysis costs the analysis, never the build."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from xpu_shark.compiler import supervise

CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def test_a_crashing_pass_leaves_the_stock_module_and_one_line(
    run: Run, iree_compile: Run, matmul: str, tmp_path: Path
) -> None:
    flags = ("--xpu-target=tiny", "--xpu-passes=test-crash")
    done = run("compile", matmul, *CPU, *flags, "-o", "ours.vmfb")
    plain = iree_compile(matmul, *CPU, "-o", "plain.vmfb")
    assert (done.returncode, plain.returncode) == (0, 0)
    assert (tmp_path / "ours.vmfb").read_bytes() == (tmp_path / "plain.vmfb").read_bytes()
    lines = [line for line in done.stderr.decode().splitlines() if "xpu-shark:" in line]
    assert lines == [
        "xpu-shark: warning: analysis ended with SIGSEGV, compiled without it (please report)"
    ]


def test_standard_input_is_there_again_after_a_crash(run: Run, matmul: str, tmp_path: Path) -> None:
    flags = ("--xpu-target=tiny", "--xpu-passes=test-crash")
    text = Path(matmul).read_bytes()
    assert run("compile", "-", *CPU, *flags, "-o", "ours.vmfb", stdin=text).returncode == 0
    assert (tmp_path / "ours.vmfb").stat().st_size > 0


@pytest.mark.parametrize("result", [0, 1, 2, "word", None])
def test_what_the_work_returns_comes_back(result: int | str | None) -> None:
    assert supervise.run(lambda: result) == result


def test_a_signal_that_somebody_meant_ends_the_build() -> None:
    def interrupted() -> int:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
        return 0

    assert supervise.run(interrupted) == 128 + signal.SIGTERM


SLOW = """
import sys, time
from xpu_shark.compiler import supervise
def work():
    print("started", flush=True)
    time.sleep(60)
    return 0
sys.exit(supervise.run(work))
"""


def started() -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"started\n"
    return process


def test_an_interrupt_of_the_parent_alone_ends_the_compile() -> None:
    with started() as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == supervise.INTERRUPTED


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells a child of its parent's end")
def test_a_killed_parent_leaves_no_compile_behind() -> None:
    with started() as process:
        process.kill()
        process.wait(timeout=10)
        assert process.stdout is not None
        assert process.stdout.read() == b""  # ends only when the child has let go of it too
