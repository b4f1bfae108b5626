"""Reads numbers and bytes out of one file, never past its end."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from xpu_shark.compiler.trace.problem import TraceError, wrong


@dataclass(frozen=True)
class Span:
    """Bytes [start, end) of a file's `data`. Positions given to methods count from `start`.

    Reading outside raises `TraceError` with the offset in the file and what belongs there.
    """

    path: str
    data: bytes
    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start

    def unpack(self, layout: str, at: int, what: str) -> tuple[Any, ...]:
        """Fields of struct `layout` (little-endian) at `at`."""
        self._need(at, struct.calcsize("<" + layout), what)
        return struct.unpack_from("<" + layout, self.data, self.start + at)

    def u32(self, at: int, what: str) -> int:
        return int(self.unpack("I", at, what)[0])

    def u64(self, at: int, what: str) -> int:
        return int(self.unpack("Q", at, what)[0])

    def bytes(self, at: int, count: int, what: str) -> bytes:
        self._need(at, count, what)
        return self.data[self.start + at : self.start + at + count]

    def text(self, at: int, count: int, what: str) -> str:
        """UTF-8 text."""
        raw = self.bytes(at, count, what)
        try:
            return raw.decode()
        except UnicodeDecodeError as problem:
            raise self.wrong(at + problem.start, f"{what} in UTF-8") from None

    def sub(self, at: int, count: int, what: str) -> Span:
        self._need(at, count, what)
        return Span(self.path, self.data, self.start + at, self.start + at + count)

    def wrong(self, at: int, expected: str, found: object = None) -> TraceError:
        return wrong(self.path, self.start + at, expected, found)

    def _need(self, at: int, count: int, what: str) -> None:
        if at < 0 or count < 0 or at + count > self.length:
            left = max(0, self.length - at)
            raise self.wrong(at, f"{count} bytes of {what}", f"{left} up to the end")
