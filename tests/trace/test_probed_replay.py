"""Loops inside kernels turn in a replay as often as probes saw them turn."""

from __future__ import annotations

import subprocess
import tempfile
import tracemalloc
from pathlib import Path

import instrument_dumps as dumps
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_runs import CPU, record, simulated, xpu_shark

from xpu_shark.compiler.trace import readers, tool
from xpu_shark.compiler.trace.bind_trips import bind_trips
from xpu_shark.compiler.trace.model import Iteration, Kind, Launches, Loss, Probe, Trace
from xpu_shark.compiler.trace.problem import TraceError
from xpu_shark.passes.instrument.expression import Constant, Probed
from xpu_shark.passes.instrument.plan import ExportPlan, Loop, Plan, Value

LENGTHS = ("--input=4x16xf32=1", "--input=3x4xi32=8 0 16 3 1 1 1 1 16 16 16 16")
# Of a launch: the mean of its four lengths, and as many additions as they are together.
ADDS = {27 / 4: 8 + 0 + 16 + 3, 1.0: 4 * 1, 16.0: 4 * 16}


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `ragged_calls.mlir` and, compiled with loop probes, `m.vmfb`."""
    folder = tmp_path_factory.mktemp("probed")
    source = Path(__file__).parents[1] / "inputs" / "trace" / "ragged_calls.mlir"
    (folder / "m.mlir").write_bytes(source.read_bytes())
    flags = ("--xpu-instrument=loop", "--iree-hal-instrument-dispatches=1mib")
    built = xpu_shark("compile", "m.mlir", *CPU, *flags, "-o", "m.vmfb", folder=folder)
    assert built.returncode == 0, built.stderr
    return folder


def additions(folder: Path, *args: str) -> dict[float, int]:
    """Simulated additions of each launch, by the turns of its inner loop."""
    rows = [row for row in simulated(folder, *args) if row["type"] == "dispatch"]
    assert [row["launches"] for row in rows] == [1, 1, 1]
    return {next(iter(row["trips"].values())): row["flops"] for row in rows}


def test_each_launch_turns_as_often_as_it_did(probed: Path) -> None:
    args = (*LENGTHS, "--iterations=2", "--warmup=1", "--module=m.mlir", *CPU)
    trace = record(probed, "m.vmfb", *args)
    assert not [loss for loss in trace.losses if loss.cause == "unmatched"]
    assert additions(probed, "t.xputrace") == ADDS
    assert additions(probed, "m.mlir", "--xpu-trace=t.xputrace", *CPU) == ADDS


def test_arguments_of_the_probes_are_not_the_programs(probed: Path) -> None:
    trace = record(probed, "m.vmfb", *LENGTHS)
    kinds = [kind for kind in trace.kinds if kind.what == "dispatch"]
    # lengths, the sums of the launch before (padded to 64 bytes), x and the sums: no ring
    assert kinds[0].bindings == (48, 64, 256, 16)
    # which of the lengths, and where the sums are: no probe site
    assert {len(kind.constants) for kind in kinds} == {2}


def test_a_dump_of_another_run_is_imported_with_the_plan_of_its_module(probed: Path) -> None:
    run = [tool.binary("iree-run-module"), "--module=m.vmfb", "--function=sums", *LENGTHS]
    run += ["--device=local-sync", "--device_replay_output=r.ireereplay"]
    subprocess.run([*run, "--instrument_file=r.idb"], check=True, cwd=probed, capture_output=True)
    files = ("--from=r.ireereplay", "--from=r.idb")
    record(probed, *files, "--plan=m.vmfb", "--module=m.mlir", *CPU)
    assert additions(probed, "t.xputrace") == ADDS
    without = record(probed, *files)
    assert not any(kind.trips for kind in without.kinds)


def test_a_plan_is_for_files_only(probed: Path) -> None:
    done = xpu_shark("record", "m.vmfb", "--plan=m.vmfb", "-o", "t.xputrace", folder=probed)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--plan=OUT.vmfb is for --from" in done.stderr


PLAN = Plan((ExportPlan("k", (Value(1), Loop(0, Constant(0), Probed(1), Constant(1), trip=1))),))


def launch(at: int, *turns: int) -> list[bytes]:
    """Records of one launch with a workgroup for each of `turns`; the first is at `at`."""
    records = []
    for number, count in enumerate(turns):
        key = at + 48 * number
        records += [dumps.workgroup(0, number, of=len(turns)), dumps.value(key, 1, count)]
    return records


def probes(folder: Path, size: int, records: list[bytes]) -> tuple[Probe, ...]:
    path = folder / "run.idb"
    path.write_bytes(dumps.dump(("k",), (0,), dumps.ring(size, records)))
    return read_probes(path)


def read_probes(path: Path) -> tuple[Probe, ...]:
    return tuple(each for each in readers.read(str(path), PLAN).probes if each.trip)


def test_workgroups_of_a_launch_are_added_up(tmp_path: Path) -> None:
    records = launch(0, 5, 7) + launch(96, 1, 0)
    (row,) = probes(tmp_path, 1024, records)
    assert (row.grid, row.trip, row.values) == ((2, 1, 1), 1, (12, 2, 1, 2))


def test_of_an_overflowed_ring_whole_launches_are_kept(tmp_path: Path) -> None:
    # Three launches of 96 bytes into 256: the first workgroup of the first is overwritten.
    records = [
        *(dumps.workgroup(0, 0, 2), dumps.value(0, 1, 5)),
        *(dumps.workgroup(0, 1, 2), dumps.value(48, 1, 7)),
        *(dumps.workgroup(0, 0, 2), dumps.value(96, 1, 2)),
        *(dumps.workgroup(0, 1, 2), dumps.value(144, 1, 3)),
        *(dumps.workgroup(0, 0, 2), dumps.value(192, 1, 4)),
        *(dumps.workgroup(0, 1, 2), dumps.value(240, 1, 6)),
    ]
    (row,) = probes(tmp_path, 256, records)
    assert row.values == (5, 2, 10, 2)


def test_values_of_another_module_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"run.idb: offset \d+: .*value 0: expected a value of"):
        probes(tmp_path, 1024, [dumps.workgroup(0), dumps.value(0, 2, 5)])


def run_of(calls: int, launches: int, probed: int, *losses: Loss) -> list[tuple[int, ...]]:
    """Trips of each launch after binding: the n-th probed launch turned 10 + n times."""
    kind = Kind(what="dispatch", export="k", workgroups=(1, 1, 1))
    counts = tuple(value for n in range(probed) for value in (10 + n, 1))
    columns = [[0] * (calls * launches), [-1] * (calls * launches), [-1] * (calls * launches)]
    trace = Trace(
        kinds=(kind,),
        launches=Launches(*(np.array(column, np.int64) for column in columns)),
        iterations=tuple(
            Iteration(function="f", first=n * launches, launches=launches) for n in range(calls)
        ),
        probes=(Probe(export="k", grid=(1, 1, 1), trip=1, values=counts),),
        losses=losses,
    )
    bound = bind_trips(trace)
    found = [bound.kinds[number].trips for number in bound.launches.kind]
    missing = sum(loss.lost for loss in bound.losses if loss.cause == "unmatched")
    assert missing == sum(not trips for trips in found)
    return found


OVERFLOW = Loss(cause="overflow", unit="probe bytes", lost=1, total=2, why="")


def test_probes_of_one_call_stand_for_every_call() -> None:
    assert run_of(2, 2, 2) == [(1, 10, 1), (1, 11, 1)] * 2


def test_probes_of_the_whole_run_are_taken_one_by_one() -> None:
    assert run_of(2, 1, 2) == [(1, 10, 1), (1, 11, 1)]


def test_what_cannot_be_matched_is_a_loss() -> None:
    assert run_of(2, 2, 3) == [()] * 4


def test_after_an_overflow_the_last_launches_are_known() -> None:
    assert run_of(1, 3, 2, OVERFLOW) == [(), (1, 10, 1), (1, 11, 1)]


def test_counting_takes_less_than_four_times_the_dump(tmp_path: Path) -> None:
    # 40 launches of 100 workgroups
    records = [each for n in range(40) for each in launch(48 * 100 * n, *range(100))]
    probes(tmp_path, 1 << 18, records)  # imports are not of the file
    tracemalloc.start()
    (row,) = read_probes(tmp_path / "run.idb")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert row.values == (4950, 100) * 40
    assert peak < 4 * (tmp_path / "run.idb").stat().st_size


GOOD = dumps.dump(("k",), (0,), dumps.ring(256, [*launch(0, 5, 7), *launch(96, 1, 0)]))


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(1, 255)), max_size=4))
def test_flipped_bytes_of_a_planned_dump_are_a_result_or_one_line(
    flips: list[tuple[int, int]],
) -> None:
    data = bytearray(GOOD)
    for place, bits in flips:
        data[place] ^= bits
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.idb")
        path.write_bytes(data)
        said = ""
        try:
            read_probes(path)
        except TraceError as problem:
            said = str(problem)
    one_line = said.startswith(f"{path}: offset ") and "expected" in said and "\n" not in said
    assert not said or one_line
