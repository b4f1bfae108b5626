"""Small modules, compiled once for all tests that run them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from xpu_shark.compiler import stock

sys.path.insert(0, str(Path(__file__).parent))  # for the helpers of this folder

from trace_runs import CPU, INPUTS, Compile


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Path of the module made of an input, by the input's name."""
    folder = tmp_path_factory.mktemp("modules")

    def compile_(name: str) -> str:
        out = folder / f"{name}.vmfb"
        if not out.exists():
            command = [str(stock.binary()), str(INPUTS / f"{name}.mlir"), *CPU, "-o", str(out)]
            subprocess.run(command, check=True, timeout=300)
        return str(out)

    return compile_


@pytest.fixture
def inputs() -> Path:
    return INPUTS
