"""The command: its refusals, and a real calibration of this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from xpu_shark.simulator import target as targets

XPU_SHARK = str(Path(sys.executable).parent / "xpu-shark")


def _calibrate(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [XPU_SHARK, "calibrate", *args], check=False, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ((), "calibrate: the following arguments are required: -o"),
        (("-o", "{folder}"), "is a folder, expected a file name"),
        (("-o", "{folder}/none/host.toml"), "does not exist; create it"),
        (("-o", "x.toml", "more"), "calibrate: unrecognized arguments: more"),
    ],
)
def test_bad_arguments_are_one_line_before_anything_is_measured(
    tmp_path: Path, args: tuple[str, ...], problem: str
) -> None:
    done = _calibrate(*(arg.format(folder=tmp_path) for arg in args))
    assert done.returncode == 2
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_this_machine_is_measured_or_refused_for_its_noise(tmp_path: Path) -> None:
    path = tmp_path / "host.toml"
    done = _calibrate("-o", str(path))
    if done.returncode:
        assert "stop other work" in done.stderr
        assert done.stderr.count("\n") == 1
        assert not path.exists()
        return
    found = targets.load(str(path))
    assert found.core is not None
    # No core has had a clock beyond 10 GHz, a chain of multiply-adds shorter than 2 cycles, or a
    # cache that is slower than the memory behind it.
    assert 2e8 < found.clock_hz < 1e10
    assert 2 < found.core.latency_cycles["madd"] < 20
    assert found.memory[1].bytes_per_s > found.memory[0].bytes_per_s
