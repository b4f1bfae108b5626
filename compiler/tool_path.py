"""`xpu-shark tool-path`: a folder for IREE_TOOL_PATH whose iree-compile takes --xpu- flags.

IREE's Python tools look for their binaries in that folder first, and for those that are not in
it (iree-lld, iree-link, iree-opt) in the wheel. Ours starts the wheel's binary by its full path,
so nothing starts itself.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from xpu_shark.compiler.errors import UsageError


def main(argv: Sequence[str]) -> int:
    """Print the folder. Raises `UsageError` when it can be written nowhere."""
    if argv:
        raise UsageError("usage: xpu-shark tool-path")
    print(folder())
    return 0


def folder() -> Path:
    """The folder, made on first use: in this Python environment, else in the user's cache."""
    problems = []
    for candidate in _candidates():
        try:
            _install(candidate / "iree-compile")
        except OSError as problem:
            problems.append(f"{candidate}: {problem.strerror}")
        else:
            return candidate
    raise UsageError(f"no folder to put iree-compile into ({'; '.join(problems)})")


def script() -> str:
    """The wrapper: this interpreter, whatever the caller's PATH, folder or virtual environment.

    `-P` keeps the caller's folder from shadowing our modules.
    """
    run = f"exec {shlex.quote(sys.executable)} -P -m xpu_shark.compiler.main compile"
    return f'#!/bin/sh\n{run} "$@"\n'


def _candidates() -> Iterator[Path]:
    yield Path(sys.prefix) / "libexec" / "xpu-shark"
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    key = hashlib.sha256(sys.executable.encode()).hexdigest()[:12]
    yield Path(cache).expanduser() / "xpu-shark" / f"tools-{key}"


def _install(path: Path) -> None:
    """Write the wrapper unless it is there already; concurrent callers do no harm."""
    text = script()
    if path.is_file() and path.read_text() == text and os.access(path, os.X_OK):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(text)
    partial.chmod(0o755)
    os.replace(partial, path)
