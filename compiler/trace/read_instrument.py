"""Reads an instrument dump (`--instrument_file=`): what probes in the kernels counted.

The file is a row of chunks: magic "0IDB", a 16-bit type (0 metadata, 1 ring), a 16-bit version,
the content's length (u64), the content, and zeros up to a multiple of 16 bytes.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from xpu_shark.compiler.trace.instrument_metadata import Metadata, read_metadata
from xpu_shark.compiler.trace.instrument_ring import Ring, read_ring
from xpu_shark.compiler.trace.launch_trips import LaunchTrips
from xpu_shark.compiler.trace.model import Export, Loss, Probe, Trace
from xpu_shark.compiler.trace.span import Span
from xpu_shark.passes.instrument.plan import Plan

MAGIC: Final = b"0IDB"
_METADATA, _RING = 0, 1
_VERSION: Final = 0
_HEADER: Final = 16


def read(path: str, plan: Plan | None = None) -> Trace:
    """A trace with exports and probes and no launches; trip counts with the module's `plan`.

    Raises `TraceError` or `OSError`.
    """
    data = Path(path).read_bytes()
    whole = Span(path, data, 0, len(data))
    chunks = list(_chunks(whole))
    if not chunks or chunks[0][0] != _METADATA:
        raise whole.wrong(0, "a metadata chunk first")
    rings = [span for kind, span in chunks if kind == _RING]
    if not rings:
        raise whole.wrong(len(data), "a ring chunk after the metadata", "the end")
    metadata = read_metadata(chunks[0][1])
    found = [read_ring(span, len(metadata.sites)) for span in rings]
    trips = [LaunchTrips(plan or Plan(), ring) for ring in found]
    counts, orphans, events = _count(found, metadata, trips)
    losses = tuple(_losses(found, orphans, events))
    probes = [p for n in sorted(counts) for p in _probes(metadata.exports[n], counts[n])]
    probes += [probe for each in trips for probe in each.probes()]
    del data, whole, chunks, rings, found, trips  # values as objects take more than the file
    return Trace(
        probes=tuple(probes),
        exports=tuple(Export(name=name) for name in metadata.exports),
        losses=losses,
        sources=(Path(path).name,),
    )


def _chunks(whole: Span) -> Iterator[tuple[int, Span]]:
    at = 0
    while at < whole.length:
        if whole.bytes(at, 4, "chunk header") != MAGIC:
            raise whole.wrong(at, 'the magic "0IDB" of an instrument dump')
        kind, version, length = whole.unpack("HHQ", at + 4, "chunk header")
        if kind not in (_METADATA, _RING):
            raise whole.wrong(at + 4, "a chunk of type 0 or 1", kind)
        if version != _VERSION:
            raise whole.wrong(at + 6, f"version {_VERSION}", version)
        content = whole.sub(at + _HEADER, length, "a chunk's content")
        yield kind, content
        at += _HEADER + (length + 15) // 16 * 16


class _Values:
    """Numbers as few bytes: whole ones, or doubles once one is not or does not fit."""

    def __init__(self) -> None:
        self.numbers: array[int] | array[float] = array("q")

    def add(self, number: int | float) -> None:
        try:
            self.numbers.append(number)  # type: ignore[arg-type]
        except (TypeError, OverflowError):
            self.numbers = array("d", self.numbers)
            self.numbers.append(number)


@dataclass
class _Counts:
    workgroups: int = 0
    loaded: int = 0
    stored: int = 0
    values: dict[int, _Values] = field(default_factory=lambda: defaultdict(_Values))


def _count(
    rings: list[Ring], metadata: Metadata, trips: list[LaunchTrips]
) -> tuple[dict[int, _Counts], int, int]:
    """Counts by export, and how many of all events belong to an overwritten workgroup."""
    counts: dict[int, _Counts] = defaultdict(_Counts)
    orphans = events = 0
    pairs = zip(rings, trips, strict=True)
    for own, event in ((own, event) for ring, own in pairs for event in ring.events()):
        events += 1
        if event.site is None:
            orphans += 1
            continue
        number = metadata.sites[event.site]
        own.take(metadata.exports[number], event)
        count = counts[number]
        if event.what == "workgroup":
            count.workgroups += 1
        elif event.what == "load":
            count.loaded += int(event.amount)
        elif event.what == "store":
            count.stored += int(event.amount)
        else:
            count.values[event.ordinal].add(event.amount)
    return counts, orphans, events


def _probes(export: str, count: _Counts) -> Iterator[Probe]:
    yield Probe(
        export=export,
        workgroups=count.workgroups,
        bytes_loaded=count.loaded,
        bytes_stored=count.stored,
    )
    for ordinal, values in sorted(count.values.items()):
        yield Probe(export=export, ordinal=ordinal, values=tuple(values.numbers))


def _losses(rings: list[Ring], orphans: int, events: int) -> Iterator[Loss]:
    for ring in rings:
        if ring.lost:
            need = 1 << (ring.written - 1).bit_length()
            why = f"the ring holds {ring.size} bytes; compile with a ring of {need}"
            yield Loss(
                cause="overflow", unit="probe bytes", lost=ring.lost, total=ring.written, why=why
            )
    if orphans:
        why = "their workgroup's record was overwritten"
        yield Loss(cause="overflow", unit="probe events", lost=orphans, total=events, why=why)
