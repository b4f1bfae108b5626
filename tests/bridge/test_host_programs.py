"""The host reader on what iree-compile really makes of small and large programs."""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from pathlib import Path

import pytest
from iree.compiler import ir

from xpu_shark.passes.bridge.read_graph import read_graph
from xpu_shark.passes.bridge.read_host import read_functions
from xpu_shark.simulator.workload import (
    Command,
    Concurrent,
    Function,
    Launch,
    Move,
    Repeat,
    launches,
)

INPUTS = Path(__file__).parents[1] / "inputs"
PROGRAMS = Path(__file__).parents[3] / "shared" / "programs"
ONE_DEVICE = ("--iree-hal-target-device=local",)
TWO_DEVICES = ("--iree-hal-target-device=a=local[0]", "--iree-hal-target-device=b=local[1]")


def compile_to(phase: str, source: Path, *flags: str) -> str:
    """The module at `phase` for llvm-cpu, with its locations."""
    command = [
        str(Path(sys.executable).with_name("iree-compile")),
        str(source),
        f"--compile-to={phase}",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=generic",
        "--mlir-print-debuginfo",
        "--mlir-elide-elementsattrs-if-larger=100000",
        *flags,
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read(source: Path, *flags: str) -> tuple[Function, ...]:
    text = compile_to("executable-configurations", source, *flags)
    with ir.Context():
        return read_functions(ir.Module.parse(text).operation)


def line(command: Command) -> int:
    assert isinstance(command, Launch | Move)
    return int(command.location.split(":")[-2])


def test_two_devices_exchange_by_transfers_at_the_line_that_asks_for_them() -> None:
    (relay,) = read(INPUTS / "two_devices.mlir", *TWO_DEVICES)
    there, launch, back = relay.body
    assert isinstance(there, Concurrent)
    assert isinstance(launch, Launch)
    assert isinstance(back, Move)
    sent = [move for move in there.body if isinstance(move, Move)]
    # 64 x 32 f32 are 8192 bytes
    assert [(m.kind, m.bytes, m.source, m.device) for m in sent] == [
        ("transfer", 8192, "a", "b")
    ] * 2
    assert launch.device == "b"
    assert (back.kind, back.bytes, back.source, back.device) == ("transfer", 8192, "b", "a")
    assert [line(command) for command in (*sent, launch, back)] == [3, 4, 5, 6]


@pytest.mark.parametrize("model", ["async-internal", "async-external"])
def test_a_counted_loop_and_a_dynamic_dim_read_the_same_for_either_calling_convention(
    model: str,
) -> None:
    source = INPUTS / "counted_loop.mlir"
    (power,) = read(source, *ONE_DEVICE, f"--iree-execution-model={model}")
    repeat, last = power.body
    assert power.name == "power"
    assert isinstance(repeat, Repeat)
    assert isinstance(last, Launch)
    assert repeat.trips == 8
    assert (str(last.constants[0]), line(last)) == ("input1.0", 15)
    assert [line(launch) for launch in launches(repeat.body)] == [12]


def test_the_graph_at_flow_has_the_dispatches_of_the_workload() -> None:
    text = compile_to("flow", INPUTS / "counted_loop.mlir", *ONE_DEVICE)
    with ir.Context():
        product, scaled = read_graph(ir.Module.parse(text).operation).sites
    assert product.name.endswith("matmul_16x16x16_f32")
    assert [operand.source for operand in product.operands] == ["other", "input"]
    assert [operand.source for operand in scaled.operands] == ["input", "other"]
    assert list(map(str, scaled.results[0].shape)) == ["input1.0", "16"]


def programs() -> list[tuple[str, int]]:
    """Files that compile and how many dispatches each has by the manifest."""
    manifest = PROGRAMS / "MANIFEST.tsv"
    if not manifest.exists():
        return []
    with manifest.open() as rows:
        table = list(csv.DictReader(rows, delimiter="\t"))
    return [
        (row["file"], int(row["dispatches(static)"])) for row in table if row["compile"] == "ok"
    ]


@pytest.mark.slow
@pytest.mark.skipif(not programs(), reason="the collection of real programs is not here")
@pytest.mark.parametrize(("name", "dispatches"), programs())
def test_every_dispatch_of_a_real_program_is_found_and_fast(name: str, dispatches: int) -> None:
    text = compile_to("executable-configurations", PROGRAMS / name, *ONE_DEVICE)
    with ir.Context():
        module = ir.Module.parse(text).operation
        read_functions(module)  # imports of dialects are not part of what is timed
        start = time.process_time()
        functions = read_functions(module)
        seconds = time.process_time() - start
    sites = [launch for function in functions for launch in launches(function.body)]
    assert len(sites) == dispatches
    assert seconds < 0.1
