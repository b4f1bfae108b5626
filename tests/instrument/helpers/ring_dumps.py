"""Smallest decoder of an instrument dump: workgroup runs, and bytes loaded and stored."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from xpu_shark.passes.instrument.reconstruct import WorkgroupRun

TAIL = 4096  # bytes after the ring; the last 8 are the write head


@dataclass
class Dump:
    """What probes wrote; `loaded` and `stored` are bytes by export."""

    runs: list[WorkgroupRun] = field(default_factory=list)
    loaded: Counter[str] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)


def read(path: Path) -> Dump:
    """The dump at `path`, whose ring must not have wrapped."""
    data = path.read_bytes()
    chunks, at = {}, 0
    while at < len(data):
        kind, _, length = struct.unpack_from("<HHQ", data, at + 4)
        chunks[kind] = data[at + 16 : at + 16 + length]
        at += 16 + (length + 15) // 16 * 16
    return _events(chunks[1], _exports(chunks[0]))


def _events(ring: bytes, exports: list[str]) -> Dump:
    end = struct.unpack_from("<Q", ring, len(ring) - 8)[0]
    assert end <= len(ring) - TAIL, "the ring wrapped"
    dump, records, values, at = Dump(), {}, {}, 0
    while at < end:
        (word,) = struct.unpack_from("<Q", ring, at)
        tag, key = word & 0xFF, word >> 24
        if tag == 0:
            site, *place = struct.unpack_from("<7I", ring, at)
            records[at], values[at] = (exports[site >> 8], place), []
            at += 32
            continue
        (amount,) = struct.unpack_from("<Q", ring, at + 8)
        if tag == 2:
            values[key].append((word >> 16 & 0xFF, amount & 0xFFFFFFFF))
        else:
            side = {4: dump.loaded, 5: dump.stored}[tag]
            side[records[key][0]] += word >> 8 & 0xFFFF
        at += 16
    for key, (export, place) in records.items():
        dump.runs.append(
            WorkgroupRun(export, tuple(place[:3]), tuple(place[3:]), tuple(values[key]))
        )
    return dump


def _exports(metadata: bytes) -> list[str]:
    """The export of each site."""
    (root,) = struct.unpack_from("<I", metadata, 0)
    names = []
    for table in _tables(metadata, root, 2):
        text = _target(metadata, _field(metadata, table, 0))
        (length,) = struct.unpack_from("<I", metadata, text)
        names.append(metadata[text + 4 : text + 4 + length].decode())
    sites = []
    for table in _tables(metadata, root, 3):
        place = _field(metadata, table, 0)
        sites.append(names[struct.unpack_from("<I", metadata, place)[0] if place else 0])
    return sites


def _field(data: bytes, table: int, number: int) -> int:
    vtable = table - struct.unpack_from("<i", data, table)[0]
    (size,) = struct.unpack_from("<H", data, vtable)
    slot = 4 + 2 * number
    offset = struct.unpack_from("<H", data, vtable + slot)[0] if slot < size else 0
    return table + offset if offset else 0


def _target(data: bytes, place: int) -> int:
    return place + struct.unpack_from("<I", data, place)[0]


def _tables(data: bytes, root: int, number: int) -> list[int]:
    vector = _target(data, _field(data, root, number))
    (count,) = struct.unpack_from("<I", data, vector)
    return [_target(data, vector + 4 + 4 * each) for each in range(count)]
