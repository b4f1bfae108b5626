"""Attention as a fused kernel: its blocks, what is loaded before it, how its units overlap."""

from __future__ import annotations

import msgspec
import pytest
from test_apart import attention

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.nest_cost import ops
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import run_bound
from xpu_shark.simulator.target import load
from xpu_shark.simulator.tilers import flash

V6E = load("tpu_v6e")
HEADS, QUERIES, KEYS = 0, 1, 2  # axes of `attention`


def resident(kernel: BoundKernel) -> BoundKernel:
    """`kernel` in a running program that has everything in the scratchpad."""
    tensors = tuple(msgspec.structs.replace(t, resident=t.is_global) for t in kernel.tensors)
    return msgspec.structs.replace(kernel, tensors=tensors, running=True)


def product_latency(kernel: BoundKernel) -> int:
    """From the last row of a product to its result, in picoseconds."""
    nest = kernel.nests[-1]
    return ops(kernel, nest, V6E, nest.extents)[0].cost.latency_ps


@pytest.mark.parametrize(
    ("length", "queries", "keys"),
    [
        (4096, 512, 512),
        (1200, 512, 512),  # equal blocks in whole registers of 128 lanes
        (600, 384, 600),  # as many scores beside fewer queries
        (512, 512, 512),
        (300, 300, 300),
        (3, 3, 3),
    ],
)
def test_blocks_fill_registers(length: int, queries: int, keys: int) -> None:
    tile = next(flash.choices(attention(2, length, 128), V6E)).tile
    assert (tile[HEADS], tile[QUERIES], tile[KEYS]) == (1, queries, keys)


@pytest.mark.parametrize(("heads", "moved"), [(96, (96, 1024, 1024)), (97, (1, 512, 1024))])
def test_what_takes_three_quarters_of_the_scratchpad_is_loaded_before_and_stored_after(
    heads: int, moved: tuple[int, int, int]
) -> None:
    # A head of 1024 x 128 bf16, four times, is 1 MiB of 128.
    tiling = next(flash.choices(attention(heads, 1024, 128), V6E))
    assert tiling.tile[:3] == (1, 512, 512)
    assert (tiling.moved or ())[:3] == moved


def test_a_staged_kernel_takes_its_transfers_and_its_work_one_after_another() -> None:
    kernel = attention(8, 1024, 128)
    tiling = next(flash.choices(kernel, V6E))
    run, work = run_bound(kernel, tiling, V6E), run_bound(resident(kernel), tiling, V6E)
    hbm = V6E.memory[0]
    size = 8 * 1024 * 128 * 2
    moves = 4 * (size / hbm.bytes_per_s * 1e12 + V6E.dma.setup_ns * 1e3)
    latencies = 2 * hbm.latency_ns * 1e3  # of the last load and of the store
    launch = V6E.launch_ns * 1e3
    assert run.time_ps == pytest.approx(launch + moves + latencies + work.time_ps, abs=10)
    assert run.bytes["hbm"] == 4 * size


def test_blocks_wait_for_each_other() -> None:
    one, four = (
        run_bound(resident(kernel), next(flash.choices(kernel, V6E)), V6E).time_ps
        for kernel in (attention(1, 512, 128), attention(4, 512, 128))
    )
    assert four == 4 * one


def test_a_block_waits_until_the_last_product_of_the_one_before_has_left_the_array() -> None:
    kernel = resident(attention(8, 128, 128))
    waits = run_bound(kernel, next(flash.choices(kernel, V6E)), V6E).attribution
    assert waits.stream == "matrix"
    assert waits.stalls_ps["block"] == 7 * product_latency(kernel)


def test_the_array_begins_the_second_product_when_a_quarter_of_the_softmax_is_done() -> None:
    """One block of 512 x 512, in four parts of 128 rows: the scores leave the array a part
    after another, and the last part passes softmax and second product behind the others."""
    kernel = attention(1, 512, 128)
    tiling = Tiling((1, 512, 512, *[axis.extent for axis in kernel.axes[3:]]), (0, 1))
    qk, *softmax, pv = (
        ops(kernel, nest, V6E, [kernel.axes[axis].extent for axis in nest.axes])[0].cost
        for nest in kernel.nests
    )
    part = sum(cost.service_ps for cost in softmax) / 4
    assert part < qk.service_ps / 4  # else the vector unit would decide
    expected = qk.service_ps + qk.latency_ps + part + pv.service_ps / 4
    run = run_bound(resident(kernel), tiling, V6E)
    assert run.time_ps == pytest.approx(expected, abs=20)
