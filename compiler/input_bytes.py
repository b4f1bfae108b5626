"""The bytes of a compile's input, looked at without parsing it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

from xpu_shark.compiler.errors import UsageError

_CHUNK = 1 << 20


def check(path: str) -> None:
    """Raise `UsageError` where `path` cannot be read as a file; `-` is standard input."""
    try:
        if path != "-" and not _is_stream(path):
            with open(path, "rb"):
                pass
    except OSError as problem:
        raise UsageError(f"{path}: cannot be read: {problem.strerror}") from problem


def mentions(path: str, words: Sequence[str]) -> bool:
    """Whether a word occurs in the file `path`; `-` is standard input, left where it stands.

    Names are spelled out in MLIR's bytecode as they are in its text. A file that cannot be read
    mentions nothing: reading it for the compile says why.
    """
    wanted = [word.encode() for word in words]
    overlap = max(map(len, wanted)) - 1
    tail = b""
    try:
        for chunk in _chunks(path):
            window = tail + chunk
            if any(word in window for word in wanted):
                return True
            tail = window[-overlap:]
    except OSError:
        return False
    return False


def _is_stream(path: str) -> bool:
    """Whether `path` is a pipe or a device, of which every byte can be read only once."""
    mode = os.stat(path).st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _chunks(path: str) -> Iterator[bytes]:
    if path != "-" and _is_stream(path):
        return
    descriptor = 0 if path == "-" else os.open(path, os.O_RDONLY)
    try:
        offset = os.lseek(descriptor, 0, os.SEEK_CUR)
        while chunk := os.pread(descriptor, _CHUNK, offset):
            yield chunk
            offset += len(chunk)
    finally:
        if descriptor:
            os.close(descriptor)
