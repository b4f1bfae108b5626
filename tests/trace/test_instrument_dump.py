"""Instrument dumps: what is read, what is said to be lost, what is refused."""

from __future__ import annotations

import struct
import tempfile
import tracemalloc
from pathlib import Path

import instrument_dumps as dumps
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xpu_shark.compiler.trace import readers
from xpu_shark.compiler.trace.model import Probe, Trace
from xpu_shark.compiler.trace.problem import TraceError

EXPORTS = ("matmul", "softmax")
# Site 0 is in `softmax`, site 1 in `matmul`. Two workgroups of matmul, one of softmax.
RECORDS = (
    dumps.workgroup(1, 0, of=2),  # at 0
    dumps.load(0, 64),
    dumps.load(0, 32),
    dumps.workgroup(1, 1, of=2),  # at 64
    dumps.load(64, 64),
    dumps.store(64, 16),
    dumps.workgroup(0),  # at 128
    dumps.load(128, 4),
    dumps.value(128, 3, 17),
    dumps.value(128, 3, -1),
)
GOOD = dumps.dump(EXPORTS, (1, 0), dumps.ring(1024, RECORDS))


def read(folder: Path, data: bytes, name: str = "run.idb") -> Trace:
    path = folder / name
    path.write_bytes(data)
    return readers.read(str(path))


def test_workgroups_bytes_and_values_are_counted_by_export(tmp_path: Path) -> None:
    trace = read(tmp_path, GOOD)
    assert trace.probes == (
        # 64 + 32 + 64 bytes loaded, 16 stored
        Probe(export="matmul", workgroups=2, bytes_loaded=160, bytes_stored=16),
        Probe(export="softmax", workgroups=1, bytes_loaded=4),
        Probe(export="softmax", ordinal=3, values=(17, -1)),
    )
    assert trace.losses == ()
    assert [each.name for each in trace.exports] == ["matmul", "softmax"]


def test_an_empty_ring_is_no_event(tmp_path: Path) -> None:
    assert read(tmp_path, dumps.dump(EXPORTS, (1,), dumps.ring(64, []))).probes == ()


def test_a_wrapped_ring_keeps_the_newest_and_says_how_much_is_lost(tmp_path: Path) -> None:
    # 10 workgroups of 32 + 16 bytes: 480 bytes into a ring of 256, of which the first 224 are
    # overwritten. That is within the fifth workgroup's record at 192: it goes too, as does the
    # owner of its load at 224. Left: that load without an owner, and workgroups 5 to 9.
    records: list[bytes] = []
    for number in range(10):
        records += [dumps.workgroup(0, number, of=10), dumps.load(48 * number % 256, 8)]
    trace = read(tmp_path, dumps.dump(("k",), (0,), dumps.ring(256, records)))
    assert trace.probes == (Probe(export="k", workgroups=5, bytes_loaded=40),)
    lost, orphans = trace.losses
    assert (lost.cause, lost.lost, lost.total) == ("overflow", 224, 480)
    assert "ring of 512" in lost.why
    assert (orphans.lost, orphans.total) == (1, 11)


def test_a_wrapped_ring_that_starts_inside_a_record_starts_at_the_next(tmp_path: Path) -> None:
    # 32-byte records only, 9 of them after a 16-byte event: the oldest 16 bytes are half of one.
    records = [dumps.workgroup(0), dumps.load(0, 4)]
    records += [dumps.workgroup(0, number, of=16) for number in range(9)]
    trace = read(tmp_path, dumps.dump(("k",), (0,), dumps.ring(128, records)))
    # 336 bytes written, 128 kept from 208: the record at 208 is whole, as 48 + 32 * 5 = 208.
    assert trace.probes == (Probe(export="k", workgroups=4),)
    assert trace.losses[0].lost == 208


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: b"", "offset 0: expected"),
        (lambda data: b"\x7fELF" + data[4:], 'offset 0: expected the magic "0IDB"'),
        (lambda data: data[:4] + b"\x07" + data[5:], "offset 4: expected a chunk of type 0 or 1"),
        (lambda data: data[: len(data) // 2], "up to the end"),
        (lambda data: data + b"\0" * 16, 'expected the magic "0IDB"'),
        (lambda data: dumps.chunk(0, dumps.metadata(EXPORTS, (0,))), "a ring chunk"),
        (lambda data: dumps.dump(EXPORTS, (5,), dumps.ring(64, [])), "a function below 2, found 5"),
        (lambda data: dumps.dump(EXPORTS, (0,), bytes(4096 + 48)), "a ring of a power of two"),
        (
            lambda data: dumps.dump(EXPORTS, (0,), dumps.ring(64, [dumps.workgroup(1)])),
            "a probe site below 1, found 1",
        ),
        (
            lambda data: dumps.dump(EXPORTS, (0,), dumps.ring(64, [dumps.load(0, 4)])),
            "the key of a workgroup record",
        ),
        (
            lambda data: dumps.dump(EXPORTS, (0,), dumps.ring(64, [struct.pack("<QQ", 9, 0)])),
            "type 0, 1, 2, 4 or 5, found type 9",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_place_and_what_belongs_there(
    tmp_path: Path, change: object, said: str
) -> None:
    assert callable(change)
    with pytest.raises(TraceError) as caught:
        read(tmp_path, change(GOOD))
    text = str(caught.value)
    assert str(tmp_path / "run.idb") in text
    assert "offset" in text
    assert said in text
    assert "\n" not in text


def refusal(data: bytes) -> str:
    """What is said of a dump with these bytes; empty where it is read."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            read(Path(folder), data)
        except TraceError as problem:
            return str(problem)
    return ""


def is_one_line(said: str) -> bool:
    return "run.idb: offset " in said and "expected" in said and "\n" not in said


@pytest.mark.parametrize("length", range(0, len(GOOD), 97))
def test_a_cut_dump_is_refused(length: int) -> None:
    assert is_one_line(refusal(GOOD[:length]))


mutation = settings(
    derandomize=True, deadline=None, max_examples=300, suppress_health_check=list(HealthCheck)
)
# Where something is written: the chunk headers, the metadata, the records and the write head.
PLACES = st.one_of(st.integers(0, 600), st.integers(len(GOOD) - 8, len(GOOD) - 1))


@mutation
@given(st.lists(st.tuples(PLACES, st.integers(1, 255)), min_size=1, max_size=8))
def test_flipped_bytes_are_a_result_or_one_line(flips: list[tuple[int, int]]) -> None:
    data = bytearray(GOOD)
    for place, bits in flips:
        data[place] ^= bits
    said = refusal(bytes(data))
    assert not said or is_one_line(said)


@mutation
@given(PLACES, st.sampled_from([0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF]))
def test_enlarged_counts_are_a_result_or_one_line(place: int, count: int) -> None:
    data = bytearray(GOOD)
    raw = struct.pack("<Q", count)[: 2 if count < 1 << 16 else 4 if count < 1 << 32 else 8]
    data[place : place + len(raw)] = raw
    said = refusal(bytes(data[: len(GOOD)]))
    assert not said or is_one_line(said)


def test_reading_takes_less_than_four_times_the_file(tmp_path: Path) -> None:
    records = [dumps.workgroup(0)]
    records += [dumps.value(0, 1, number * 1000) for number in range(16000)]
    data = dumps.dump(("k",), (0,), dumps.ring(1 << 18, records))
    path = tmp_path / "large.idb"
    path.write_bytes(data)
    readers.read(str(path))  # imports are not of the file
    tracemalloc.start()
    trace = readers.read(str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(trace.probes[1].values) == 16000
    assert peak < 4 * len(data)
