"""Every lit test is one case here; lit itself runs once, its time limit is in lit.cfg.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1] / "lit_tests"
NAMES = sorted(
    str(path.relative_to(ROOT)) for path in ROOT.rglob("*.mlir") if "Inputs" not in path.parts
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What lit says of each test, by its path under lit_tests."""
    report = tmp_path_factory.mktemp("lit") / "results.json"
    start = "from lit.main import main; main()"
    lit = [sys.executable, "-c", start, "-q", "--output", str(report), str(ROOT)]
    run = subprocess.run(lit, check=False, capture_output=True, text=True)
    assert report.exists(), run.stdout + run.stderr
    tests = json.loads(report.read_text())["tests"]
    return {test["name"].split(" :: ", 1)[1]: test for test in tests}


@pytest.mark.parametrize("name", NAMES)
def test_lit(name: str, results: dict[str, dict[str, Any]]) -> None:
    result = results[name]
    if result["code"] == "UNSUPPORTED":
        pytest.skip("needs a feature that is not here")
    assert result["code"] in ("PASS", "XFAIL"), result["output"]
