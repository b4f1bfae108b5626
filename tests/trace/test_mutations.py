"""Damaged files of every kind end in a result or one line, and cost no more than their bytes.

Instrument dumps have more of it in `test_instrument_dump.py`.
"""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_runs import Compile, run_tools

from xpu_shark.compiler.trace import readers, trace_file
from xpu_shark.compiler.trace.model import Launches, Trace

SUFFIXES = (".ireereplay", ".ireeprof", ".xputrace")
Good = Callable[[str], Path]
# Tools read two of the formats: a process for each example.
mutation = settings(
    derandomize=True, deadline=None, max_examples=60, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory, compiled: Compile) -> Good:
    """The file of a run, by its suffix."""
    folder = tmp_path_factory.mktemp("good")
    run_tools(folder, compiled("dynamic_layer"))
    files = [str(folder / f"r{suffix}") for suffix in SUFFIXES[:2]]
    trace_file.write(str(folder / "r.xputrace"), readers.read_all(files))
    return lambda suffix: folder / f"r{suffix}"


def said_of(data: bytes, like: Path) -> str:
    """What is said of a file with these bytes; empty where it is read."""
    bad = like.with_name(f"bad{like.suffix}")
    bad.write_bytes(data)
    try:
        readers.read(str(bad))
    except readers.TraceError as problem:
        return str(problem)
    return ""


def is_one_line(said: str, like: Path) -> bool:
    head = f"{like.with_name('bad')}{like.suffix}: offset "
    return said.startswith(head) and ": expected " in said and "\n" not in said


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_cut_file_is_refused(good: Good, suffix: str) -> None:
    whole = good(suffix).read_bytes()
    for length in range(0, len(whole), 97):
        assert is_one_line(said_of(whole[:length], good(suffix)), good(suffix)), length


@pytest.mark.parametrize("suffix", SUFFIXES)
@mutation
@given(data=st.data())
def test_flipped_bytes_are_a_result_or_one_line(
    good: Good, suffix: str, data: st.DataObject
) -> None:
    changed = bytearray(good(suffix).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] ^= data.draw(st.integers(1, 255))
    said = said_of(bytes(changed), good(suffix))
    assert not said or is_one_line(said, good(suffix))


COUNTS = (1 << 15, 0xFFFF, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 33, (1 << 64) - 1)


@pytest.mark.parametrize("suffix", SUFFIXES)
@mutation
@given(data=st.data())
def test_enlarged_counts_are_a_result_or_one_line(
    good: Good, suffix: str, data: st.DataObject
) -> None:
    changed = bytearray(good(suffix).read_bytes())
    count = data.draw(st.sampled_from(COUNTS))
    raw = struct.pack("<Q", count)[: 2 if count < 1 << 16 else 4 if count < 1 << 32 else 8]
    place = data.draw(st.integers(0, len(changed) - 8))
    changed[place : place + len(raw)] = raw
    said = said_of(bytes(changed), good(suffix))
    assert not said or is_one_line(said, good(suffix))


@mutation
@given(data=st.data())
def test_arrays_of_other_numbers_are_a_result_or_one_line(good: Good, data: st.DataObject) -> None:
    """With checksums that fit, so that what the arrays say is read."""
    with np.load(good(".xputrace")) as file:
        arrays = {name: file[name].copy() for name in file.files}
    array = arrays[data.draw(st.sampled_from([n for n in arrays if arrays[n].size]))]
    place = data.draw(st.integers(0, array.size - 1))
    limits = np.iinfo(array.dtype)
    array.reshape(-1)[place] = data.draw(st.integers(int(limits.min), int(limits.max)))
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    said = said_of(packed.getvalue(), good(".xputrace"))
    assert not said or is_one_line(said, good(".xputrace"))


def test_members_that_say_they_are_larger_are_refused(good: Good) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        content = io.BytesIO()
        np.save(content, np.zeros(1 << 24, np.uint8))
        archive.writestr("launch_kind.npy", content.getvalue())
    said = said_of(bomb.getvalue(), good(".xputrace"))
    assert is_one_line(said, good(".xputrace"))
    assert "stored as it is" in said


PEAKS = """
import json, resource, sys
from xpu_shark.compiler.trace import readers
try:
    readers.read(sys.argv[1])
except readers.TraceError:
    pass
tools = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
with open("/proc/self/status") as file:
    own = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
print(json.dumps([1024 * own, 1024 * tools]))
"""


def peaks(path: Path) -> list[int]:
    """Peak bytes of a process that reads `path`, and of the largest tool that it starts.

    Not the `ru_maxrss` of the process itself: that counts what its parent had when it started it.
    """
    done = subprocess.run([sys.executable, "-c", PEAKS, str(path)], capture_output=True, check=True)
    found: list[int] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux for the peak")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_reading_takes_less_than_four_times_the_file(
    good: Good, large: Good, tmp_path: Path, suffix: str
) -> None:
    least = peaks(good(suffix))
    path = large(suffix)
    size = path.stat().st_size
    broken = bytearray(path.read_bytes())
    broken[len(broken) // 2] ^= 0xFF
    bad = tmp_path / f"bad{suffix}"
    bad.write_bytes(broken)
    for each in (path, bad):
        grown = [now - before for now, before in zip(peaks(each), least, strict=True)]
        assert sum(grown) < 4 * size, (each, grown, size)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, compiled: Compile) -> Good:
    """Files of some megabytes."""
    folder = tmp_path_factory.mktemp("large")
    run_tools(folder, compiled("dynamic_layer"), calls=4000)
    files = [str(folder / f"r{suffix}") for suffix in SUFFIXES[:2]]
    one = readers.read_all(files)
    trace_file.write(str(folder / "r.xputrace"), many(one))
    return lambda suffix: folder / f"r{suffix}"


def many(trace: Trace) -> Trace:
    columns = (trace.launches.kind, trace.launches.start_ns, trace.launches.duration_ns)
    return replace(
        trace, launches=Launches(*(np.tile(column, 200) for column in columns)), iterations=()
    )
