"""Recording real runs, and importing what a run left. Times are not judged here: the machine
that runs the tests may be busy, so that traces are kept without them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from trace_runs import CPU, LAYER, Compile, record, run_tools, xpu_shark


@pytest.mark.parametrize("device", ["local-task", "local-sync"])
def test_order_workgroups_constants_and_bindings_of_a_dynamic_layer(
    tmp_path: Path, compiled: Compile, device: str
) -> None:
    module = compiled("dynamic_layer")
    trace = record(tmp_path, module, *LAYER, f"--device={device}", "--iterations=3", "--warmup=1")
    (kind,) = trace.kinds
    assert kind.export == "layer_dispatch_0_matmul_Dx128x64_f32"
    assert kind.constants == (33, 0)  # an index is two words
    # rows 33x64, weights 64x128, result 33x128, four bytes each
    assert kind.bindings == (8448, 32768, 16896)
    assert kind.workgroups[1:] == (1, 1)
    assert [(i.function, i.first, i.launches) for i in trace.iterations] == [
        ("layer", 0, 1),
        ("layer", 1, 1),
        ("layer", 2, 1),
    ]
    assert (trace.launches.duration_ns > 0).all()
    assert (np.diff(trace.launches.start_ns) > 0).all()
    assert (trace.device, trace.target) == (device, "host")


def test_how_often_a_loop_turned(tmp_path: Path, compiled: Compile) -> None:
    trace = record(tmp_path, compiled("halving"), "--input=16xf32=100")
    launched = [trace.kinds[n].export for n in trace.launches.kind]
    # 100 halved 7 times is 0.78
    assert launched.count("halve_dispatch_0_elementwise_16_f32") == 7


def test_sampling_keeps_every_nth_call_and_says_what_is_gone(
    tmp_path: Path, compiled: Compile
) -> None:
    args = (*LAYER, "--iterations=7", "--sample=1/3")
    trace = record(tmp_path, compiled("dynamic_layer"), *args)
    assert len(trace.iterations) == 3  # calls 0, 3 and 6
    loss = next(each for each in trace.losses if each.cause == "sampling")
    assert (loss.lost, loss.total) == (4, 7)


def test_contents_of_tensors_are_nowhere_in_the_trace(tmp_path: Path, compiled: Compile) -> None:
    # recognisable values, as four bytes and as text; the replay that it is made from has them
    planted = np.float32(123456.789)
    np.save(tmp_path / "planted.npy", np.full((33, 64), planted))
    record(
        tmp_path,
        compiled("dynamic_layer"),
        "--function=layer",
        "--input=@planted.npy",
        "--input=64x128xf32=2",
    )
    with np.load(tmp_path / "t.xputrace") as arrays:
        content = b"".join(arrays[name].tobytes() for name in arrays.files)
    assert planted.tobytes() not in content
    assert b"123456" not in content


def has_avx2() -> bool:
    info = Path("/proc/cpuinfo")
    return info.exists() and " avx2 " in info.read_text()


@pytest.mark.skipif(not has_avx2(), reason="needs a processor with AVX2")
def test_bytes_loaded_and_stored_by_a_matmul_and_a_softmax(tmp_path: Path, inputs: Path) -> None:
    source = str(inputs / "matmul_softmax.mlir")
    flags = [*CPU[:2], "--iree-llvmcpu-target-cpu=x86-64-v3", "--xpu-target=tiny"]
    flags += ["--xpu-effort=low", "--iree-llvmcpu-instrument-memory-accesses"]
    args = ("compile", source, *flags, "--xpu-instrument=workgroup", "-o", "probed.vmfb")
    built = xpu_shark(*args, folder=tmp_path)
    assert built.returncode == 0, built.stderr
    shapes = ("--input=64x128xf32=1", "--input=128x256xf32=1", "--input=64x256xf32=1")
    trace = record(tmp_path, "probed.vmfb", *shapes)
    matmul, softmax = trace.probes
    # Tiles of 8x8: each element of the left side (32 KiB) is read for every 8 of 256 columns,
    # each of the right one (128 KiB) for every 8 of 64 rows, the bias (64 KiB) once.
    assert matmul.bytes_loaded == 32 * 32768 + 8 * 131072 + 65536 == 2_162_688
    assert softmax.bytes_loaded == 3 * 65536  # maximum, sum, quotient
    assert matmul.bytes_stored == softmax.bytes_stored == 65536
    assert len(trace.launches) == 2


def test_files_of_another_run_are_imported(tmp_path: Path, compiled: Compile) -> None:
    run_tools(tmp_path, compiled("dynamic_layer"))
    both = record(tmp_path, "--from=r.ireereplay", "--from=r.ireeprof", "--target=mine")
    assert [each.function for each in both.iterations] == ["layer", "layer"]
    assert both.target == "mine"
    assert (both.launches.duration_ns > 0).all()
    replay = record(tmp_path, "--from=r.ireereplay")
    assert replay.kinds == both.kinds
    assert (replay.launches.duration_ns == -1).all()
    profile = record(tmp_path, "--from=r.ireeprof")
    assert profile.kinds[0].constants == ()
    assert profile.losses[0].cause == "unrecorded"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "expected either a module to run or --from=FILE"),
        (("absent.vmfb",), "no file 'absent.vmfb'"),
        (("M", "--function=nope"), "--function=nope: not in the module; it has layer"),
        (("M", "--input=33x64xf32"), "@layer takes 2 inputs, --input gives 1"),
        (("M", "--input=33x63xf32", "--input=64x128xf32"), "dimension 1 of 64 expected, found 63"),
        (("M", "--iterations=0"), "expected a whole number of at least 1"),
        (("M", "--sample=0.1"), "expected 1/N such as 1/10"),
        (("M", "--iree-opt-level=O2"), "needs --module=IN.mlir"),
        (("M", "--from=x.idb"), "expected either a module to run or --from=FILE"),
        (("--from=x.idb", "--input=1xf32"), "leave it out"),
    ],
)
def test_a_bad_argument_is_one_line_before_any_run(
    tmp_path: Path, compiled: Compile, args: tuple[str, ...], said: str
) -> None:
    given = [compiled("dynamic_layer") if arg == "M" else arg for arg in args]
    done = xpu_shark("record", *given, "-o", "t.xputrace", folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "t.xputrace").exists()


def test_a_run_that_fails_is_one_line(tmp_path: Path, compiled: Compile) -> None:
    module = compiled("dynamic_layer")
    args = ("record", module, *LAYER, "--device=nope", "-o", "t.xputrace")
    done = xpu_shark(*args, folder=tmp_path)
    assert done.returncode == 1
    assert "no driver 'nope' registered" in done.stderr
    assert done.stderr.count("\n") == 1
