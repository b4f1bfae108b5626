"""Running the commands as a user does: in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from xpu_shark.compiler import stock

INPUTS = Path(__file__).parents[1] / "inputs"
CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The environment with the package of test passes installed."""
    return {**os.environ, "PYTHONPATH": str(INPUTS / "plugin")}


@pytest.fixture
def run(tmp_path: Path, environment: dict[str, str]) -> Run:
    """`xpu-shark ARGS` in an empty folder."""
    return runner([sys.executable, "-m", "xpu_shark.compiler.main"], tmp_path, environment)


@pytest.fixture
def iree_compile(tmp_path: Path, environment: dict[str, str]) -> Run:
    """The wheel's `iree-compile ARGS` in the same folder."""
    return runner([str(stock.binary())], tmp_path, environment)


@pytest.fixture
def opt(tmp_path: Path, environment: dict[str, str]) -> Run:
    """`xpu-shark-opt ARGS` in the same folder."""
    return runner([sys.executable, "-m", "xpu_shark.compiler.opt_main"], tmp_path, environment)


@pytest.fixture
def matmul() -> str:
    return str(INPUTS / "matmul.mlir")


def runner(program: list[str], folder: Path, environment: dict[str, str]) -> Run:
    def run(*args: str, stdin: bytes = b"", **extra: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*program, *args],
            input=stdin,
            capture_output=True,
            check=False,
            cwd=folder,
            env=environment | extra,
            timeout=300,
        )

    return run
