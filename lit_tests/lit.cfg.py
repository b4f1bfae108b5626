# ruff: noqa: F821  (lit injects `config`)
"""How lit runs this folder: `lit lit_tests`; pytest runs it too, one case a file."""

import os
import shutil
import sys
from pathlib import Path

import lit.formats

here = Path(__file__).parent
config.name = "xpu-shark"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
config.test_source_root = str(here)
config.test_exec_root = str(here.parent / "build" / "lit")
config.maxIndividualTestTime = 60  # seconds

# The tools of the environment that runs lit, whether or not it is active.
binaries = str(Path(sys.executable).parent)
config.environment["PATH"] = os.pathsep.join([binaries, os.environ["PATH"]])
for name in ("PYTHONPATH", "XDG_CACHE_HOME", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# LLVM's FileCheck where there is one (numeric variables, faster), else the one from PyPI.
versions = (f"FileCheck-{number}" for number in range(30, 13, -1))
filecheck = next(filter(None, map(shutil.which, ("FileCheck", *versions))), None)
if filecheck:
    config.available_features.add("llvm-filecheck")
config.substitutions.append((r"\bFileCheck\b", filecheck or f"{binaries}/filecheck"))
