"""The ring of an instrument dump: what probes wrote and nothing overwrote, oldest first.

The chunk is the ring, a power of two of bytes, and 4096 more: a record that starts at the ring's
end runs on into those, and their last 8 bytes are the write head, the bytes ever written. Every
record is a multiple of 16 bytes and starts with a word whose lowest byte tells its type:

    0 workgroup  32 bytes, each u32: site << 8, id x y z, count x y z, processor
    1 text       length << 8 (16 bits), key << 24; the text
    2 value      type << 8, ordinal << 16, key << 24; 8 bytes of value
    4 load, 5 store   length << 8 (16 bits), key << 24; address

`key` is the place in the ring of the workgroup record that the event belongs to.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from xpu_shark.compiler.trace.problem import TraceError
from xpu_shark.compiler.trace.span import Span

TAIL: Final = 4096
_ALIGN: Final = 16
_WORKGROUP, _TEXT, _VALUE, _LOAD, _STORE = 0, 1, 2, 4, 5
_VALUE_LAYOUTS: Final = (*"bBhHiIqQQefd", "bf16")  # type 8 is a pointer
_LONGEST: Final = (8 + 0xFFFF + 15) // 16 * 16  # a text
_IN_STEP: Final = 64  # events that a wrong start is not expected to survive


@dataclass(frozen=True)
class Event:
    """`site` is None where the workgroup record was overwritten. `amount` is bytes or a value.

    `key` is unique for each workgroup record and what belongs to it, and rises with the records;
    `place` are a workgroup's id x, y, z and count x, y, z.
    """

    what: Literal["workgroup", "value", "load", "store"]
    site: int | None
    key: int
    amount: int | float = 0
    ordinal: int = 0
    place: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ring:
    """`lost` of `written` bytes were overwritten before the dump."""

    span: Span
    size: int
    written: int
    first: int
    lost: int
    sites: int

    def events(self) -> Iterator[Event]:
        """What is left, in order. Raises `TraceError` at a record that cannot be."""
        return _events(self, self.first)


def read_ring(span: Span, sites: int) -> Ring:
    """`sites` is how many probe sites the metadata has."""
    size = span.length - TAIL
    if size < _ALIGN or size & (size - 1):
        raise span.wrong(0, f"a ring of a power of two bytes and {TAIL} more", f"{span.length}")
    written = span.u64(span.length - 8, "write head")
    if written % _ALIGN:
        raise span.wrong(span.length - 8, f"a write head that is a multiple of {_ALIGN}", written)
    if written <= size:
        return Ring(span, size, written, 0, 0, sites)
    return _wrapped(span, size, written, sites)


def _wrapped(span: Span, size: int, written: int, sites: int) -> Ring:
    """Starts at the first place from which the next `_IN_STEP` events can be.

    The oldest bytes may be the end of a record that was half overwritten.
    """
    oldest, problem = written - size, None
    for first in range(oldest, min(oldest + _LONGEST, written), _ALIGN):
        ring = Ring(span, size, written, first, first, sites)
        try:
            deque(islice(ring.events(), _IN_STEP), maxlen=0)
        except TraceError as error:
            problem = problem or error
        else:
            return ring
    raise problem or span.wrong(0, "a record")


def _events(ring: Ring, at: int) -> Iterator[Event]:
    while at < ring.written:
        place = at % ring.size
        (word,) = ring.span.unpack("Q", place, "record")
        tag = word & 0xFF
        if tag == _WORKGROUP:
            site, *where = _workgroup(ring, place)
            yield Event("workgroup", site, at, place=tuple(where))
            at += 32
        elif tag == _TEXT:
            at += (8 + (word >> 8 & 0xFFFF) + 15) // _ALIGN * _ALIGN
        elif tag == _VALUE:
            value = _value(ring.span, place, word)
            key, owner = _owner(ring, at, word)
            yield Event("value", owner, key, value, word >> 16 & 0xFF)
            at += _ALIGN
        elif tag in (_LOAD, _STORE):
            what: Literal["load", "store"] = "load" if tag == _LOAD else "store"
            if not word >> 8 & 0xFFFF:
                raise ring.span.wrong(place, f"a {what} of at least 1 byte", 0)
            key, owner = _owner(ring, at, word)
            yield Event(what, owner, key, word >> 8 & 0xFFFF)
            at += _ALIGN
        else:
            raise ring.span.wrong(place, "a record of type 0, 1, 2, 4 or 5", f"type {tag}")
    if at != ring.written:
        place = ring.span.length - 8
        raise ring.span.wrong(place, "a write head at the end of a record", ring.written)


def _workgroup(ring: Ring, place: int) -> tuple[int, ...]:
    """Site, id x y z, count x y z of the record at `place`."""
    site = ring.span.u32(place, "workgroup record") >> 8
    x, y, z, nx, ny, nz = ring.span.unpack("6I", place + 4, "workgroup record")
    if site >= ring.sites:
        raise ring.span.wrong(place, f"a probe site below {ring.sites}", site)
    if x >= nx or y >= ny or z >= nz:
        inside = f"a workgroup inside {nx}x{ny}x{nz}"
        raise ring.span.wrong(place + 4, inside, f"{x}, {y}, {z}")
    return site, x, y, z, nx, ny, nz


def _owner(ring: Ring, at: int, word: int) -> tuple[int, int | None]:
    """Key and site of the workgroup that an event at stream position `at` belongs to."""
    key = word >> 24
    place = at % ring.size
    if key >= ring.size or key % _ALIGN:
        raise ring.span.wrong(place, "an event of a workgroup in the ring", f"key {key}")
    position = at - (at - key) % ring.size
    if position < ring.first:
        if not ring.lost:
            raise ring.span.wrong(place, "an event after its workgroup", f"key {key}")
        return position, None
    if ring.span.u32(key, "workgroup record") & 0xFF != _WORKGROUP:
        raise ring.span.wrong(place, "the key of a workgroup record", f"key {key}")
    return position, _workgroup(ring, key)[0]


def _value(span: Span, place: int, word: int) -> int | float:
    kind = word >> 8 & 0xFF
    if kind >= len(_VALUE_LAYOUTS):
        raise span.wrong(place + 1, f"a value type below {len(_VALUE_LAYOUTS)}", kind)
    raw = span.bytes(place + 8, 8, "value")
    layout = _VALUE_LAYOUTS[kind]
    if layout == "bf16":
        layout, raw = "f", b"\0\0" + raw[:2]
    (value,) = struct.unpack_from("<" + layout, raw)
    return int(value) if isinstance(value, int) else float(value)
