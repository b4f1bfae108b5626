"""Tiles that stand for a library: blocks of a result, attention kernels, workgroups."""

from __future__ import annotations

import msgspec
import pytest
from kernels import matmul, softmax

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.target import load
from xpu_shark.simulator.tilers import gpu, stationary, systolic
from xpu_shark.simulator.workload import Work

V4 = load("tpu_v4")  # 16 MiB of scratchpad beside the core


@pytest.mark.parametrize(
    ("m", "n", "k", "tile"),
    [
        # 4 MiB of lhs, 4 of rhs, 8 of result: all 16 MiB.
        (2048, 2048, 1024, (2048, 2048, 1024)),
        # 2048 x 2048 would take 12 + 12 + 8 MiB and 2048 x 1024 takes 6 + 3 + 4.
        (4096, 4096, 1536, (2048, 1024, 1536)),
        # 2048 x 1024 over 4096 takes 16 + 8 + 4 MiB, so 1024 x 1024 (2 MiB) stay and the
        # operands, 4 KiB for each of k, pass in steps that fit 14 MiB twice: 1792, evenly 1408.
        (4096, 4096, 4096, (1024, 1024, 1408)),
    ],
)
def test_block_of_the_result_stays(m: int, n: int, k: int, tile: tuple[int, ...]) -> None:
    assert systolic.choose(bind(matmul(m, n, k, "bf16"), {}), V4).tile == tile


def test_pieces_are_even_and_whole_steps() -> None:
    assert stationary.even(4096, 1792, 128) == 1408  # three pieces of 1365.3, in steps of 128
    assert stationary.even(100, 128, 8) == 100
    assert stationary.even(1000, 4, 8) == 8  # no less than a step


def test_gpu_takes_the_largest_of_about_equal_tiles() -> None:
    # Either side's loads hide at 128 x 128 and at 128 x 64.
    assert gpu.choose(bind(matmul(8192, 4096, 4096, "f16"), {}), load("a100")).tile[:2] == (
        128,
        128,
    )


def test_rows_that_registers_do_not_hold_are_read_in_chunks() -> None:
    target = load("mi210")
    kernel = bind(softmax(4096, 1024), {})  # rows of 4 KiB, registers for 2
    assert gpu.choose(kernel, target).tile[1] == 512
    dma = msgspec.structs.replace(target.dma, window_bytes=4096)
    assert gpu.choose(kernel, msgspec.structs.replace(target, dma=dma)).tile[1] == 1024


@pytest.mark.parametrize(
    ("cols", "exponential", "one"),
    [(512, True, False), (2048, True, True), (512, False, True), (8, False, False)],
)
def test_gpu_gives_a_row_a_workgroup_where_libraries_do(
    cols: int, exponential: bool, one: bool
) -> None:
    """Softmax of short rows is a warp's work; a row of 32 bytes is less than a burst."""
    kernel = softmax(4096, cols)
    if not exponential:
        nests = tuple(
            msgspec.structs.replace(nest, work=(Work(kind="mul", element="f32"),))
            for nest in kernel.nests
        )
        kernel = msgspec.structs.replace(kernel, nests=nests)
    assert (gpu.choose(bind(kernel, {}), load("a100")).tile[0] == 1) == one
