"""Files that a command line asks for: checked before any compiling, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from xpu_shark.compiler.errors import UsageError


def check(flag: str, path: str) -> None:
    """Raise `UsageError` where `path`, the value of `flag`, cannot be written. `-` is stdout."""
    if path in ("", "-"):
        return
    target = Path(path)
    if target.is_dir():
        raise UsageError(f"{flag} {path}: is a folder, expected a file name")
    if not target.parent.is_dir():
        raise UsageError(f"{flag} {path}: folder {str(target.parent)!r} does not exist; create it")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UsageError(f"{flag} {path}: cannot be written (permission denied)")


def replace(path: str, write: Callable[[str], None]) -> None:
    """Let `write` fill a file beside `path` that then takes its place; devices are written to."""
    target = Path(path)
    if path == "-" or (target.exists() and not target.is_file()):
        write(path)
        return
    partial = f"{path}.{os.getpid()}.tmp"
    try:
        write(partial)
        os.replace(partial, path)
    finally:
        Path(partial).unlink(missing_ok=True)
