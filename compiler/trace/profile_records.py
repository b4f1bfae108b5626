"""Where in an .ireeprof the first record stands that cannot be read.

After its header the file is a row of records. Each starts with its length and that of its payload
(u64 each); 56 bytes in stands the length of the record's header (u32), always 104.
"""

from __future__ import annotations

import shutil
import struct
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from xpu_shark.compiler.trace.problem import TraceError, wrong
from xpu_shark.compiler.trace.tool import ToolError

_FIRST: Final = 24  # after the file's header
_FILE_LENGTH: Final = 16  # where it stands in that header
_HEADER: Final = 104


def locate(path: str, problem: ToolError, read: Callable[[str], object]) -> TraceError:
    """What is wrong with the file that `read` refused because of `problem`.

    Records whose lengths fit are tried by reading the file up to one of them, halving the rest.
    """
    try:
        ends = list(_ends(path))
    except TraceError as broken:
        return broken
    with tempfile.TemporaryDirectory(prefix="xpu-shark-") as folder:
        part = str(Path(folder, "part.ireeprof"))

        def refused(end: int) -> bool:
            _cut(path, part, end)
            try:
                read(part)
            except ToolError:
                return True
            return False

        bad = bisect_left(ends[:-1], True, key=refused)
    return wrong(path, ends[bad - 1] if bad else _FIRST, "a record that fits", problem)


def _ends(path: str) -> Iterator[int]:
    """Where each record ends. Raises `TraceError` for one that cannot be as long as it says."""
    size, at = Path(path).stat().st_size, _FIRST
    with Path(path).open("rb") as file:
        while at < size:
            file.seek(at)
            start = file.read(_HEADER)
            if len(start) < _HEADER:
                raise wrong(path, at, f"a record of at least {_HEADER} bytes", len(start))
            length, payload, header = struct.unpack_from("<QQ40xI", start)
            if header != _HEADER:
                raise wrong(path, at + 56, f"a record header of {_HEADER} bytes", header)
            if not header + payload <= length <= size - at:
                expected = f"a record of {header + payload} to {size - at} bytes"
                raise wrong(path, at, expected, length)
            at += length
            yield at


def _cut(path: str, part: str, end: int) -> None:
    """The first `end` bytes of a profile as a profile."""
    shutil.copyfile(path, part)
    with Path(part).open("r+b") as file:
        file.truncate(end)
        file.seek(_FILE_LENGTH)
        file.write(struct.pack("<Q", end))
