"""The header that .ireereplay and .ireeprof files share, checked before a tool reads them.

Both start with a four-letter magic, a 16-bit major and minor version, the header's length (u32)
and flags (u32), and the file's length (u64).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from xpu_shark.compiler.trace.span import Span

_HEADER: Final = 24


def check(path: str, magic: bytes, major: int) -> None:
    """Raises `TraceError` for another kind of file, another version, or one that was cut."""
    size = Path(path).stat().st_size
    with Path(path).open("rb") as file:
        data = file.read(_HEADER)
    span = Span(path, data, 0, len(data))
    name = magic.decode()
    if span.bytes(0, 4, f"header with the magic {name!r}") != magic:
        raise span.wrong(0, f"the magic {name!r}")
    (version,) = span.unpack("H", 4, "version")
    if version != major:
        raise span.wrong(4, f"version {major}", version)
    length = span.u64(16, "file length")
    if length == 0:
        raise span.wrong(16, "the length of the file", "0: the recording was not closed")
    if length != size:
        raise span.wrong(16, f"the length of the file, {size}", f"{length}: it was cut or grew")
