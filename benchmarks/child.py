"""Runs a command as a child process and measures it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import iree.compiler

IREE_COMPILE = str(Path(iree.compiler.__file__).parent / "_mlir_libs" / "iree-compile")
XPU_SHARK = str(Path(sys.executable).parent / "xpu-shark")
CPU_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)


@dataclass(frozen=True)
class Child:
    """One finished process; CPU seconds and peak memory are of it and its own children."""

    code: int
    stdout: bytes
    stderr: str
    wall_s: float
    cpu_s: float
    peak_mb: float


def run(command: Sequence[str]) -> Child:
    """Standard input is empty."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Child(
            process.returncode,
            out.read(),
            err.read().decode(errors="replace"),
            wall,
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss / 1024,
        )
