"""One recorded run, two targets: different advice, right for each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from xpu_shark.compiler import stock

SOURCE = str(Path(__file__).parents[1] / "inputs" / "long_reduction.mlir")
CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
TERMS = 200_000


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("recorded")
    module, out = str(folder / "module.vmfb"), str(folder / "run.xputrace")
    run(str(stock.binary()), SOURCE, *CPU, "-o", module)
    inputs = (f"--input=33x{TERMS}xf32=1", f"--input={TERMS}x33xf32=1")
    command = (sys.executable, "-m", "xpu_shark.compiler.main", "record", module)
    run(*command, "--function=main", *inputs, "--contended=keep", "-o", out)
    return out


def findings(trace: str, target: str) -> list[dict[str, Any]]:
    command = (sys.executable, "-m", "xpu_shark.compiler.main", "simulate", SOURCE, *CPU)
    flags = (f"--xpu-target={target}", f"--xpu-trace={trace}", "--format=jsonl")
    rows = [json.loads(line) for line in run(*command, *flags).splitlines()]
    return [row for row in rows if row["type"] == "finding"]


def test_idle_cores_get_the_reduction_split(trace: str) -> None:
    # 33 x 33 results are 3 tiles of 16 x 33 for 304 cores; only the trace has the 200,000 terms.
    best = findings(trace, "mi300x")[0]
    assert best["rule"] == "split_reduction"
    assert best["condition"] == "3 tiles on 304 cores"
    assert f"the reduction of {TERMS}" in best["suggestion"]
    assert best["speedup_low"] > 10


def test_a_single_core_that_waits_for_its_memory_gets_fewer_bytes(trace: str) -> None:
    # 2 x 33 x 200,000 f32 at 1.64 TB/s are 32 us, most of the time: half of them are half of it.
    found = findings(trace, "tpu_v6e")
    assert found[0]["rule"] == "precision"
    assert 1.5 < found[0]["speedup"] < 2
    assert "split_reduction" not in {row["rule"] for row in found}
