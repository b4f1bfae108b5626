"""Kernels from a few lines of IR; tests of this folder import its builders by name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from iree.compiler import ir

from xpu_shark.passes.bridge.read_kernel import read_kernel
from xpu_shark.simulator.workload import Kernel

sys.path.insert(0, str(Path(__file__).parent))
ReadFunction = Callable[[str], Kernel]


@pytest.fixture
def read() -> ReadFunction:
    """Reads the only function of a module's text."""

    def read_text(text: str) -> Kernel:
        with ir.Context():
            module = ir.Module.parse(text)
            (function,) = module.body.operations
            return read_kernel(function.operation, name="f", backend="llvm-cpu", location="")

    return read_text
