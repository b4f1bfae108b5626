"""Writes instrument dumps by hand, record by record."""

from __future__ import annotations

import struct
from collections.abc import Sequence

TAIL = 4096


def dump(exports: Sequence[str], sites: Sequence[int], ring: bytes) -> bytes:
    """A whole file: the metadata chunk, then the ring chunk."""
    return chunk(0, metadata(exports, sites)) + chunk(1, ring)


def chunk(kind: int, content: bytes) -> bytes:
    padding = bytes(-len(content) % 16)
    return struct.pack("<4sHHQ", b"0IDB", kind, 0, len(content)) + content + padding


def ring(size: int, records: Sequence[bytes]) -> bytes:
    """What a run that wrote `records` leaves of a ring of `size` bytes."""
    data, head = bytearray(size + TAIL), 0
    for record in records:
        place = head % size
        data[place : place + len(record)] = record
        head += len(record)
    data[-8:] = struct.pack("<Q", head)
    return bytes(data)


def workgroup(site: int, x: int = 0, of: int = 1) -> bytes:
    return struct.pack("<8I", site << 8, x, 0, 0, of, 1, 1, 0)


def load(key: int, size: int, address: int = 0x1000) -> bytes:
    return struct.pack("<QQ", 4 | size << 8 | key << 24, address)


def store(key: int, size: int, address: int = 0x2000) -> bytes:
    return struct.pack("<QQ", 5 | size << 8 | key << 24, address)


def value(key: int, ordinal: int, number: int) -> bytes:
    """A 32-bit signed value: type 4."""
    return struct.pack("<QQ", 2 | 4 << 8 | ordinal << 16 | key << 24, number & 0xFFFFFFFF)


def metadata(exports: Sequence[str], sites: Sequence[int]) -> bytes:
    """A FlatBuffer with a root table of functions (field 2) and sites (field 3)."""
    out = bytearray(8)
    out[4:8] = b"IDBD"
    vtable = len(out)
    out += struct.pack("<6H", 12, 12, 0, 0, 4, 8)
    root = len(out)
    out[0:4] = struct.pack("<I", root)
    out += struct.pack("<iII", root - vtable, 0, 0)
    _vector(out, root + 4, [_function(name) for name in exports])
    _vector(out, root + 8, [_site(function) for function in sites])
    return bytes(out)


def _vector(out: bytearray, field: int, tables: Sequence[bytes]) -> None:
    """Tables of the form that `_function` and `_site` give: a 6-byte vtable and 2 of padding."""
    struct.pack_into("<I", out, field, len(out) - field)
    out += struct.pack("<I", len(tables)) + bytes(4 * len(tables))
    first = len(out) - 4 * len(tables)
    for number, table in enumerate(tables):
        entry = first + 4 * number
        struct.pack_into("<I", out, entry, len(out) + 8 - entry)
        out += table


def _function(name: str) -> bytes:
    text = name.encode()
    body = struct.pack("<3H2x", 6, 8, 4) + struct.pack("<iI", 8, 4)
    return body + struct.pack("<I", len(text)) + text + bytes(-len(text) % 4 + 4)


def _site(function: int) -> bytes:
    return struct.pack("<3H2x", 6, 8, 4) + struct.pack("<iI", 8, function)
