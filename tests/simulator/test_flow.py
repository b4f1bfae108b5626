"""Elementwise work on the results of a systolic array runs beside the array."""

from __future__ import annotations

import msgspec
import pytest
from kernels import access, matmul

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.flow import takes_results
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import run_bound
from xpu_shark.simulator.target import load
from xpu_shark.simulator.workload import Dim, Kernel, Nest, Tensor, Work

V6E = load("tpu_v6e")
M, N, K = 1024, 1024, 1024


def with_tail(count: int, *, reduces: bool = False) -> Kernel:
    """A bf16 product and `count` additions on each of its results."""
    kernel = matmul(M, N, K, "bf16")
    lhs, rhs, result = kernel.tensors
    local = Tensor(shape=(M, N), element="f32", storage="local")
    out = msgspec.structs.replace(result, shape=(M,)) if reduces else result
    tail = Nest(
        name="tail",
        dims=(
            Dim(extent=M, kind="parallel"),
            Dim(extent=N, kind="reduction" if reduces else "parallel"),
        ),
        reads=(access(2, 0, 1),),
        writes=(access(3, 0) if reduces else access(3, 0, 1),),
        work=(Work(kind="add", element="f32", count=count),),
    )
    return Kernel(name="tail", tensors=(lhs, rhs, local, out), nests=(kernel.nests[0], tail))


def test_elementwise_work_takes_results_and_a_reduction_does_not() -> None:
    assert takes_results(bind(with_tail(1), {}), V6E, (0,), 1)
    assert not takes_results(bind(with_tail(1, reduces=True), {}), V6E, (0,), 1)


def test_registers_of_a_gpu_hold_the_whole_tile_first() -> None:
    assert not takes_results(bind(with_tail(1), {}), load("a100"), (0,), 1)


@pytest.mark.parametrize("count", [1, 16, 64, 256])
def test_the_longer_of_both_decides(count: int) -> None:
    """Whole operands in one tile: load, then product and additions together, then store."""
    bare, full = (
        run_bound(bind(kernel, {}), Tiling((M, N, K), (0, 1)), V6E)
        for kernel in (matmul(M, N, K, "bf16"), with_tail(count))
    )
    busy = {stream.name: stream.busy_ps for stream in full.streams}
    grown = full.time_ps - bare.time_ps
    # One block of 16 is what the vector unit is behind by, and what rounding up may add.
    behind = max(busy["vector"] - busy["matrix"], 0) + -(-busy["vector"] // 16)
    assert 0 <= grown <= behind + 1000
    assert full.time_ps >= busy["vector"]


@pytest.mark.parametrize("count", [1, 16, 64])
def test_work_on_operands_goes_on_beside_the_product(count: int) -> None:
    """Whole operands in one tile: the first block is prepared, then both units work."""
    bare = matmul(M, N, K, "bf16")
    work = (*bare.nests[0].work, Work(kind="exp", element="f32", count=count))
    prepared = msgspec.structs.replace(
        bare, nests=(msgspec.structs.replace(bare.nests[0], work=work),)
    )
    before, after = (
        run_bound(bind(kernel, {}), Tiling((M, N, K), (0, 1)), V6E) for kernel in (bare, prepared)
    )
    busy = {stream.name: stream.busy_ps for stream in after.streams}
    block = -(-busy["vector"] // 16)
    ahead = max(busy["vector"] - busy["matrix"], 0)
    assert block <= after.time_ps - before.time_ps <= ahead + block + 1000
