"""Real programs with known counts: a trip count that is data, a decode loop, a batch of 33."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from trace_runs import CPU, record

from xpu_shark.compiler import stock
from xpu_shark.compiler.trace.model import Trace

PROGRAMS = Path(__file__).parents[3] / "shared" / "programs"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PROGRAMS.is_dir(), reason="the programs are not here"),
]


def recorded(folder: Path, program: str, *inputs: str) -> Trace:
    """One call of `main` of a program."""
    command = [str(stock.binary()), str(PROGRAMS / program), *CPU, "-o", "m.vmfb"]
    subprocess.run(command, check=True, cwd=folder, timeout=300, capture_output=True)
    return record(folder, "m.vmfb", *(f"--input={text}" for text in inputs))


def launches(trace: Trace) -> Counter[str]:
    """Launches by export, without the prefix that all share."""
    kinds = [trace.kinds[number] for number in trace.launches.kind]
    return Counter(kind.export.removeprefix("main_") for kind in kinds if kind.what == "dispatch")


def test_a_while_turns_as_often_as_the_data_says(tmp_path: Path) -> None:
    program = "control_flow/jax__while_data_dependent_trip.mlir"
    found = launches(recorded(tmp_path, program, "256xf32=0.25"))
    # the norm of 256 times 0.25 is 4; halved 12 times it is 0.00098, which is not above 0.001
    assert found["dispatch_2_elementwise_256_f32"] == found["dispatch_3_reduction_256_f32"] == 12
    assert found["dispatch_0_reduction_256_f32"] == 1


def test_a_decode_loop_runs_its_four_steps(tmp_path: Path) -> None:
    sizes = "768 768 3072 768 768 2304 768 768 768x3072 3072x768 768x768 768x2304 1x1x768"
    inputs = [f"{size}xf32=0.25" for size in sizes.split()]
    program = "control_flow/jax__gpt2_block_decode_fori_4.mlir"
    found = launches(recorded(tmp_path, program, *inputs))
    products = [count for name, count in found.items() if "vecmat" in name]
    assert products == [4] * len(products)
    assert len(products) >= 4  # of a block: qkv, attention's output, and the two of the MLP


def test_a_dynamic_batch_of_33(tmp_path: Path) -> None:
    shapes = ("64x128xf32=1", "128x10xf32=1", "33x64xf32=1")
    trace = recorded(tmp_path, "dynamic/jax__dyn_batch_mlp.mlir", *shapes)
    first, second = (trace.kinds[number] for number in trace.launches.kind)
    assert first.constants == second.constants == (33, 0)  # an index is two words
    # rows x 64 in, 64 x 128 and 128 x 10 of weights, four bytes each
    assert (first.bindings[0], second.bindings[0]) == (33 * 64 * 4, 33 * 128 * 4)
    assert first.workgroups[0] == 2  # of 64 columns, for all rows
