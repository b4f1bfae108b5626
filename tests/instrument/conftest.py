"""Fixtures of the probe tests; their helpers are imported by name."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

import probed


@pytest.fixture
def program(tmp_path: Path) -> probed.Program:
    """`probed.run` with a folder of its own for every call."""

    def run(*args: object, **options: object) -> probed.Ran:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return probed.run(folder, *args, **options)

    return run


@pytest.fixture
def needs_x86() -> None:
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("counts of the x86-64 code generator, and a cycle counter to read")
