"""The .xputrace file."""

from __future__ import annotations

import random
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xpu_shark.compiler.trace import merge, readers, trace_file
from xpu_shark.compiler.trace.model import (
    Export,
    Iteration,
    Kind,
    Launches,
    Loss,
    Probe,
    Trace,
)
from xpu_shark.compiler.trace.problem import TraceError

KINDS = (
    Kind(
        what="dispatch",
        export="net$fwd_dispatch_0_größe",
        workgroups=(4, 2, 1),
        constants=(33, 0),
        bindings=(8448, 512),
    ),
    Kind(what="copy", bytes=1024, device=1),
)
SMALL = Trace(
    kinds=KINDS,
    launches=Launches(
        np.array([0, 1, 0], np.int64),
        np.array([5_000_000_000, -1, 5_000_001_000], np.int64),
        np.array([700, -1, 650], np.int64),
    ),
    iterations=(
        Iteration(function="main", first=0, launches=2),
        Iteration(function="main", first=2, launches=1, contended=True),
    ),
    exports=(Export(name="net$fwd_dispatch_0_größe", format="elf", location="a.mlir:3:4"),),
    probes=(Probe(export="net$fwd_dispatch_0_größe", ordinal=2, values=(3, 4)),),
    losses=(Loss(cause="sampling", unit="launches", lost=6, total=9, why="1 of 3"),),
    device="local-task",
    machine="processor, 2 cores",
    target="host",
    tool="runtime 1",
    sources=("a.vmfb",),
    program=b"\x81\xa1",
)


def written(folder: Path, trace: Trace = SMALL) -> str:
    path = str(folder / "t.xputrace")
    trace_file.write(path, trace)
    return path


def same(a: Trace, b: Trace) -> bool:
    columns = ("kind", "start_ns", "duration_ns")
    equal = all(np.array_equal(getattr(a.launches, c), getattr(b.launches, c)) for c in columns)
    return equal and replace(a, launches=b.launches) == b


def test_reading_gives_back_what_was_written(tmp_path: Path) -> None:
    assert same(trace_file.read(written(tmp_path)), SMALL)
    assert same(readers.read(written(tmp_path, Trace())), Trace())


def test_traces_of_two_programs_are_not_made_one(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path, program in zip(paths, (b"\x81", b"", b"\x82"), strict=True):
        path.mkdir()
        written(path, replace(SMALL, program=program))
    one, bare, other = (str(path / "t.xputrace") for path in paths)
    assert len(readers.read_all([one, bare, one]).iterations) == 6
    with pytest.raises(TraceError, match=f"{other}: its program is not that of {one}"):
        readers.read_all([one, bare, other])


def test_the_same_trace_is_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    first, second = written(tmp_path), written(tmp_path / "b")
    assert Path(first).read_bytes() == Path(second).read_bytes()


def test_numpy_reads_it_without_pickle(tmp_path: Path) -> None:
    with np.load(written(tmp_path), allow_pickle=False) as arrays:
        assert int(arrays["version"]) == 2
        assert all(arrays[name].dtype != object for name in arrays.files)


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path)
    before = Path(path).read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(OSError, match="no space"):
        trace_file.write(path, Trace())
    assert Path(path).read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["t.xputrace"]


def test_a_long_run_takes_at_most_8_bytes_a_launch(tmp_path: Path) -> None:
    # 200 layers of 5 kinds with times that scatter by a tenth, 100 times over
    draw = random.Random(1)
    kinds = tuple(
        Kind(what="dispatch", export=f"e{n}", constants=(n, 0), bindings=(64, 64)) for n in range(5)
    )
    count = 100_000
    duration = np.array([int(draw.gauss(40_000, 4000)) for _ in range(count)], np.int64)
    gap = np.array([int(draw.gauss(1500, 150)) for _ in range(count)], np.int64)
    start = 10**15 + np.cumsum(gap) + np.concatenate([[0], np.cumsum(duration)[:-1]])
    kind = np.tile(np.arange(5), count // 5)
    trace = Trace(kinds=kinds, launches=Launches(kind, start, duration))
    path = written(tmp_path, trace)
    assert trace_file.size(path) <= 8 * count
    assert same(trace_file.read(path), trace)


def test_runs_one_after_another_are_one_trace() -> None:
    other = replace(SMALL, kinds=KINDS[::-1], probes=(), losses=())
    both = merge.append([SMALL, other])
    assert both.kinds == KINDS
    assert both.launches.kind.tolist() == [0, 1, 0, 1, 0, 1]
    assert [each.first for each in both.iterations] == [0, 2, 3, 5]
    assert both.losses == SMALL.losses


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_file, "VERSION", 3)
    path = written(tmp_path)
    monkeypatch.undo()
    with pytest.raises(TraceError, match=r"offset 0: expected version 2 of .xputrace, found 3"):
        trace_file.read(path)


def refusal(data: bytes) -> str:
    """What is said of a file with these bytes; empty where it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bad.xputrace")
        path.write_bytes(data)
        try:
            readers.read(str(path))
        except TraceError as problem:
            return str(problem)
    return ""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return Path(written(tmp_path_factory.mktemp("good"))).read_bytes()


def test_cut_files_are_refused(good: bytes, tmp_path: Path) -> None:
    for length in range(0, len(good), 97):
        path = tmp_path / "cut.xputrace"
        path.write_bytes(good[:length])
        with pytest.raises(TraceError, match=r"cut.xputrace: offset \d+: expected"):
            readers.read(str(path))


@settings(
    derandomize=True, deadline=None, max_examples=150, suppress_health_check=list(HealthCheck)
)
@given(data=st.data())
def test_flipped_bytes_are_a_result_or_one_line(good: bytes, data: st.DataObject) -> None:
    changed = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(good) - 1))] ^= data.draw(st.integers(1, 255))
    said = refusal(bytes(changed))
    assert not said or ("bad.xputrace: offset " in said and "\n" not in said)
