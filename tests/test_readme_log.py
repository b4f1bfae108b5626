"""The log in README.md is what the demo prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLD = "\n    "  # how the demo breaks a line


@pytest.mark.slow
def test_the_log_of_the_readme_is_the_demos(tmp_path: Path) -> None:
    demo = (ROOT / "examples" / "demo.sh").read_text()
    flags = demo.split("flags=(", 1)[1].split(")", 1)[0].replace("$target", "tpu_v6e").split()
    model = "examples/transformer_block.mlir"
    shark = (sys.executable, "-m", "xpu_shark.compiler.main")
    done = subprocess.run(
        [*shark, "compile", model, "-o", str(tmp_path / "demo.vmfb"), *flags],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    shown = (ROOT / "README.md").read_text().split("```text\n", 1)[1].split("\n```", 1)[0]
    wanted = "the log in README.md is old: make readme"
    assert shown.replace(FOLD, " ").splitlines() == done.stderr.splitlines(), wanted
