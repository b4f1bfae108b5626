"""Traces back in the simulator, from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trace_runs import CPU, LAYER, Compile, record, simulated, xpu_shark

CONTEXT = ("--input=640x64xf32=1", "--input=64x32xf32=2")


def of_type(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["type"] == kind]


def test_ten_steps_over_a_growing_context_have_ten_times(
    tmp_path: Path, compiled: Compile, inputs: Path
) -> None:
    record(tmp_path, compiled("growing_context"), *CONTEXT)
    module = str(inputs / "growing_context.mlir")
    rows = simulated(tmp_path, module, "--xpu-trace=t.xputrace", *CPU)
    steps = of_type(rows, "dispatch")
    assert len({row["time_ns"] for row in steps}) == 10
    # 64 to 640 rows by 32 by 64, two operations each
    flops = [64 * n * 32 * 64 * 2 for n in range(1, 11)]
    assert sorted(row["flops"] for row in steps) == flops
    assert [row["launches"] for row in steps] == [1] * 10


def test_a_trace_with_its_program_needs_no_ir(
    tmp_path: Path, compiled: Compile, inputs: Path
) -> None:
    module = str(inputs / "dynamic_layer.mlir")
    record(tmp_path, compiled("dynamic_layer"), *LAYER, f"--module={module}", *CPU)
    alone = simulated(tmp_path, "t.xputrace")
    beside = simulated(tmp_path, module, "--xpu-trace=t.xputrace", *CPU, "--xpu-effort=low")
    assert of_type(alone, "dispatch") == of_type(beside, "dispatch")
    (dispatch,) = of_type(alone, "dispatch")
    assert dispatch["flops"] == 33 * 64 * 128 * 2
    assert dispatch["constants"] == [33, 0]


def test_a_program_without_unknowns_takes_the_time_that_it_takes_without_a_trace(
    tmp_path: Path, compiled: Compile, inputs: Path
) -> None:
    # On a TPU a function is one program, whose results stay in the scratchpad.
    module = str(inputs / "matmul_softmax.mlir")
    shapes = ("--input=64x128xf32=1", "--input=128x256xf32=1", "--input=64x256xf32=1")
    record(tmp_path, compiled("matmul_softmax"), *shapes)
    tpu = ("--xpu-target=tpu_v5e", "--xpu-effort=low")
    alone = simulated(tmp_path, module, *CPU, *tpu)
    traced = simulated(tmp_path, module, *CPU, *tpu, "--xpu-trace=t.xputrace")
    assert of_type(alone, "function") == of_type(traced, "function")
    assert of_type(alone, "dispatch") == of_type(traced, "dispatch")


def test_a_loop_turns_as_often_as_it_did(tmp_path: Path, compiled: Compile, inputs: Path) -> None:
    trace = record(tmp_path, compiled("halving"), "--input=16xf32=100", "--iterations=2")
    rows = simulated(tmp_path, str(inputs / "halving.mlir"), "--xpu-trace=t.xputrace", *CPU)
    (function,) = of_type(rows, "function")
    assert (function["launches"], function["unknown"]) == (7, [])
    (call,) = of_type(rows, "call")
    assert call["calls"] == 2  # alike
    assert call["launches"] * call["calls"] == call["recorded"] == len(trace.launches)


def test_a_trace_of_another_module_is_refused_with_the_first_difference(
    tmp_path: Path, compiled: Compile, inputs: Path
) -> None:
    record(tmp_path, compiled("halving"), "--input=16xf32=4")
    module = str(inputs / "dynamic_layer.mlir")
    flags = ("--xpu-target=tiny", "--xpu-trace=t.xputrace", *CPU)
    done = xpu_shark("simulate", module, *flags, folder=tmp_path)
    said = "t.xputrace: recorded from another module: the run launches halve_dispatch_0"
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    built = xpu_shark("compile", module, *flags, "-o", "out.vmfb", folder=tmp_path)
    assert built.returncode == 0  # a trace of ours never breaks a build
    assert said in built.stderr
    assert (tmp_path / "out.vmfb").exists()


def test_the_wrong_ir_is_refused_when_recording(
    tmp_path: Path, compiled: Compile, inputs: Path
) -> None:
    other = f"--module={inputs / 'halving.mlir'}"
    args = ("record", compiled("dynamic_layer"), *LAYER, other, *CPU, "--contended=keep")
    done = xpu_shark(*args, "-o", "t.xputrace", folder=tmp_path)
    assert done.returncode == 2
    assert "not what ran: the run launches layer_dispatch_0" in done.stderr


def test_a_trace_without_a_program_says_how_to_use_it(tmp_path: Path, compiled: Compile) -> None:
    record(tmp_path, compiled("halving"), "--input=16xf32=4")
    done = xpu_shark("simulate", "t.xputrace", "--xpu-target=tiny", folder=tmp_path)
    assert done.returncode == 2
    assert "record it with --module=IN.mlir" in done.stderr


def test_a_trace_that_is_no_trace_ends_the_command_before_compiling(
    tmp_path: Path, inputs: Path
) -> None:
    (tmp_path / "t.xputrace").write_bytes(b"nothing")
    flags = ("--xpu-target=tiny", "--xpu-trace=t.xputrace")
    done = xpu_shark("compile", str(inputs / "halving.mlir"), *flags, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "t.xputrace: offset" in done.stderr
