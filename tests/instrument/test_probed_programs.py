"""Programs with probes compute what they compute without, and their events give every iteration."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from probed import EVERY, Program, Ran
from ring_dumps import read

from xpu_shark.compiler.read_plan import read_plan
from xpu_shark.passes.instrument.plan import NONE, Plan
from xpu_shark.passes.instrument.reconstruct import (
    Cycles,
    WorkgroupRun,
    reconstruct,
    recorded,
    replay,
    sizes,
)

LOOP = ("--xpu-instrument=loop",)
ROWS = ("33x64xf32=0.5", "64x128xf32=0.25", "128xf32=1")
RAGGED = ("4x16xf32=1", "4xi32=8 0 16 3")


def plan_and_runs(ran: Ran) -> tuple[Plan, list[WorkgroupRun]]:
    plan = read_plan(str(ran.module))
    assert plan is not None
    return plan, read(ran.dump).runs


CASES = [
    ("dynamic_mlp.mlir", ROWS, 1),
    ("two_tile_dims.mlir", ("197x32xf32=1", "32x192xf32=1"), 1),
    ("ragged_sums.mlir", RAGGED, 2),
    ("trace/ragged_calls.mlir", (RAGGED[0], "3x4xi32=8 0 16 3 1 1 1 1 2 2 2 2"), 1),
    ("folded_weights.mlir", ("4x8xf32=1",), 1),
]


@pytest.mark.parametrize(("source", "inputs", "outputs"), CASES)
def test_results_are_the_same_and_reconstruction_equals_the_full_trace(
    program: Program, source: str, inputs: tuple[str, ...], outputs: int
) -> None:
    plain, workgroup, loop, every = (
        program(source, flags, inputs, outputs=outputs)
        for flags in ((), ("--xpu-instrument=workgroup",), LOOP, EVERY)
    )
    assert plain.results == workgroup.results == loop.results == every.results
    full = list(recorded(*plan_and_runs(every)))
    assert full
    assert list(reconstruct(*plan_and_runs(loop))) == full
    assert list(reconstruct(*plan_and_runs(every))) == full


def test_workgroup_probes_record_each_workgroup_once_and_nothing_else(program: Program) -> None:
    plan, runs = plan_and_runs(program("dynamic_mlp.mlir", ("--xpu-instrument=workgroup",), ROWS))
    # 33 rows and 128 columns in tiles of 64 x 64
    assert sorted(run.identity for run in runs) == [(0, 0, 0), (1, 0, 0)]
    assert {run.count for run in runs} == {(2, 1, 1)}
    assert all(not run.values for run in runs)
    assert [export.name for export in plan.exports] == [runs[0].export]


def test_the_dynamic_size_of_a_launch_is_read_back(program: Program) -> None:
    plan, runs = plan_and_runs(program("dynamic_mlp.mlir", LOOP, ROWS))
    assert [sizes(plan, run) for run in runs] == [{0: 33}, {0: 33}]


def test_data_dependent_trip_counts_are_read_back(program: Program) -> None:
    plan, runs = plan_and_runs(program("ragged_sums.mlir", LOOP, RAGGED, outputs=2))
    trips = Counter(each.loop for each in reconstruct(plan, runs))
    # four rows; 8 + 0 + 16 + 3 elements; 8 is halved three times until it is 1
    assert trips == {0: 4, 1: 27, 2: 3}


def test_data_dependent_trips_cost_an_event_an_entry_not_an_iteration(program: Program) -> None:
    _, runs = plan_and_runs(program("ragged_sums.mlir", LOOP, RAGGED, outputs=2))
    lengths = [value for site, value in runs[0].values if site == 0]
    assert lengths == [8, 0, 16, 3]


@pytest.mark.usefixtures("needs_x86")
def test_cycle_stamps_of_a_workgroup_do_not_go_backwards(program: Program) -> None:
    plan, runs = plan_and_runs(program("dynamic_mlp.mlir", LOOP, ROWS))
    stamps = [each for each in replay(plan, runs[:1]) if isinstance(each, Cycles)]
    assert [stamps[0].loop, stamps[-1].loop] == [NONE, NONE]
    start = stamps[0].cycles
    since = [(each.cycles - start) % (1 << 32) for each in stamps]
    assert since == sorted(since)
    # the row loops run 4 tiles of 8 rows and 1 row that is left
    assert Counter(each.loop for each in stamps[1:-1]).most_common() == [(0, 4), (3, 1)]


def test_constants_that_are_no_longer_computed_while_compiling_are_said(program: Program) -> None:
    ran = program("folded_weights.mlir", LOOP, ("4x8xf32=1",))
    assert "--iree-opt-const-eval=false was added: 1 constants are computed when the" in ran.log


@pytest.mark.slow
@pytest.mark.usefixtures("needs_x86")
def test_bytes_of_a_known_program_are_read_back_exactly(program: Program) -> None:
    flags = ("--xpu-instrument=workgroup", "--iree-llvmcpu-instrument-memory-accesses")
    cpu = (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=haswell",  # AVX2: vector tiles of 8 x 8
    )
    if "avx2" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("needs AVX2")
    inputs = ("64x128xf32=1", "128x256xf32=1", "64x256xf32=1")
    dump = read(program("matmul_softmax.mlir", flags, inputs, cpu=cpu).dump)
    matmul, softmax = sorted(dump.loaded)
    # (64 / 8) * (256 / 8) tiles, 128 steps each, 8 + 8 elements of 4 bytes; then the addend
    assert dump.loaded[matmul] == 8 * 32 * 128 * 16 * 4 + 64 * 256 * 4
    assert dump.stored[matmul] == 64 * 256 * 4
    # three passes: maximum, sum of exponentials, quotient
    assert dump.loaded[softmax] == 3 * 64 * 256 * 4
    assert dump.stored[softmax] == 64 * 256 * 4
