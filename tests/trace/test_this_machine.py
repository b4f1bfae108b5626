"""Recordings and calibrated targets call a machine the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from xpu_shark.compiler.calibrate import machine
from xpu_shark.compiler.errors import UsageError
from xpu_shark.compiler.trace.this_machine import identity


def test_a_machine_is_its_processor_and_the_cores_that_programs_may_use(tmp_path: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    cpuinfo = tmp_path / "cpuinfo"
    assert identity(cpuinfo) == f"unknown processor, {cores} cores"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Fast 9000\nflags\t: fpu\n")
    assert identity(cpuinfo) == f"Fast 9000, {cores} cores"


def test_calibration_says_the_same() -> None:
    try:
        found = machine.read()
    except UsageError:
        pytest.skip("the system does not tell its caches")
    assert identity() == f"{found.name}, {found.cores} cores"
