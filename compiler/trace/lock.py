"""One recording at a time on a machine: two would disturb each other's times."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from xpu_shark.compiler import errors
from xpu_shark.compiler.errors import UsageError

PATIENCE_S: Final = 600
_POLL_S: Final = 0.2


def default_path() -> str:
    """The same for every user of the machine."""
    return str(Path(tempfile.gettempdir(), "xpu-shark-record.lock"))


@contextmanager
def alone(path: str = "", patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Wait for other recordings to end, and hold others off. Raises `UsageError` after a while."""
    path = path or default_path()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as problem:
        raise UsageError(f"{path}: cannot lock it to record alone: {problem.strerror}") from None
    try:
        _wait(descriptor, path, patience_s)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, path: str, patience_s: float) -> None:
    end, told = time.monotonic() + patience_s, False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            pass
        if time.monotonic() >= end:
            raise UsageError(
                f"{path}: another recording has held it for {patience_s:.0f} s; try again later"
            )
        if not told:
            errors.warning("another recording is running on this machine; waiting for it to end")
            told = True
        time.sleep(_POLL_S)
