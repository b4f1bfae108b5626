"""Compiling a program with and without probes, and running it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from xpu_shark.compiler import stock

INPUTS = Path(__file__).parents[2] / "inputs"
TOOLS = Path(sys.executable).parent
CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
EVERY = (  # probes in every loop, to compare with
    "--xpu-instrument=workgroup",
    "--xpu-passes=xpu-lower-kernels,xpu-every-loop-probes",
)


@dataclass(frozen=True)
class Ran:
    """One compile and run. `results` are the outputs' .npy bytes; `dump` exists if probed."""

    module: Path
    log: str
    results: tuple[bytes, ...]
    dump: Path


Program = Callable[..., Ran]


def run(
    folder: Path,
    source: str,
    flags: tuple[str, ...],
    inputs: tuple[str, ...],
    *,
    outputs: int = 1,
    cpu: tuple[str, ...] = CPU,
) -> Ran:
    """Compile `source` of tests/inputs in `folder`, and run it on one thread.

    Without `flags` it is the wheel's compiler that compiles.
    """
    flags = (*flags, "--iree-hal-instrument-dispatches=8mib") if flags else ()
    module, dump = folder / "program.vmfb", folder / "dump.bin"
    compiler = [sys.executable, "-m", "xpu_shark.compiler.main", "compile"]
    command = compiler if flags else [str(stock.binary())]
    log = _run([*command, str(INPUTS / source), *cpu, *flags, "-o", str(module)], folder)
    saved = [folder / f"{number}.npy" for number in range(outputs)]
    given = [f"--input={each}" for each in inputs]
    kept = [f"--output=@{each}" for each in saved]
    kept += [f"--instrument_file={dump}"] if flags else []
    runner = [str(TOOLS / "iree-run-module"), f"--module={module}", "--device=local-sync"]
    _run([*runner, *given, *kept], folder)
    return Ran(module, log, tuple(each.read_bytes() for each in saved), dump)


def _run(command: list[str], folder: Path) -> str:
    """What `command` says on stderr; the test ends where it fails."""
    child = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=folder, timeout=300
    )
    assert child.returncode == 0, child.stderr
    return child.stderr
