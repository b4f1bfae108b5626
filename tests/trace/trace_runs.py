"""Running the commands that record and replay, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xpu_shark.compiler.trace import readers, tool
from xpu_shark.compiler.trace.model import Trace

INPUTS = Path(__file__).parents[1] / "inputs" / "trace"
CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
Compile = Callable[[str], str]
LAYER = ("--function=layer", "--input=33x64xf32=1", "--input=64x128xf32=2")


def xpu_shark(*args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The finished command `xpu-shark ARGS` in `folder`."""
    command = [sys.executable, "-m", "xpu_shark.compiler.main", *args]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, timeout=300
    )


def record(folder: Path, *args: str) -> Trace:
    """What the run left, its times judged by nobody."""
    done = xpu_shark("record", *args, "-o", "t.xputrace", "--contended=keep", folder=folder)
    assert done.returncode == 0, done.stderr
    return readers.read(str(folder / "t.xputrace"))


def simulated(folder: Path, *args: str) -> list[dict[str, Any]]:
    """What `xpu-shark simulate ARGS` prints as rows, for `tiny` if no target is given."""
    if not any(arg.startswith("--xpu-target=") for arg in args):
        args = (*args, "--xpu-target=tiny")
    done = xpu_shark("simulate", *args, "--format=jsonl", folder=folder)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def run_tools(folder: Path, module: str, calls: int = 2) -> None:
    """A run as somebody else's: IREE's own runner writes r.ireeprof and r.ireereplay."""
    command = [tool.binary("iree-benchmark-module"), f"--module={module}", *LAYER]
    command += ["--device=local-sync", f"--benchmark_min_time={calls}x"]
    command += ["--device_profiling_mode=host-execution", "--device_profiling_output=r.ireeprof"]
    command += ["--device_replay_output=r.ireereplay"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=300)
