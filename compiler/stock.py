"""The iree-compile of the installed wheel: where it is, and becoming it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from xpu_shark.compiler.errors import UsageError


def binary() -> Path:
    """Path of the compiler binary, found without importing IREE. Raises `UsageError`."""
    spec = importlib.util.find_spec("iree.compiler")
    name = "iree-compile.exe" if os.name == "nt" else "iree-compile"
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "_mlir_libs" / name
        if path.is_file():
            return path
    raise UsageError("iree-compile is not installed: pip install iree-base-compiler")


def become(args: Sequence[str]) -> NoReturn:
    """Replace this process by iree-compile on `args`: its bytes, messages and exit code."""
    path = str(binary())
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":  # execv there returns to the shell before the child is done
        sys.exit(subprocess.run([path, *args], check=False).returncode)
    os.execv(path, [path, *args])
