"""Kernels on the `tiny` target through the whole path, counted by hand.

tiny: a cycle is 1 ns; launch 10 ns; hbm 4 bytes a ns in bursts of 4, 20 ns latency, 5 ns to set a
transfer up; a 4 x 4 array that takes a row a ns and 12 ns to load, fill and drain; 4 lanes.
"""

from __future__ import annotations

import msgspec
from kernels import elementwise, matmul

from xpu_shark.simulator.simulate import KernelRun, simulate_kernel
from xpu_shark.simulator.target import Target, load
from xpu_shark.simulator.workload import Kernel

TINY = load("tiny")


def buffers(count: int) -> Target:
    return msgspec.structs.replace(TINY, dma=msgspec.structs.replace(TINY.dma, stages=count))


def simulated(kernel: Kernel, target: Target = TINY) -> KernelRun:
    run = simulate_kernel(kernel, {}, target)
    assert run is not None
    return run


def test_two_tiles_with_one_buffer_take_turns() -> None:
    # B 10..31, there at 51; A0 31..52, there at 72; tile 0 on the array 72..76, result at 88.
    # A1 waits for A0's buffer until 76: 76..97, there at 117; tile 1 117..121, result at 133.
    # C0 is ready at 88 and waits for the memory: 97..118. C1 133..154, in memory at 174.
    run = simulated(matmul(8, 4, 4, tiles=(4, 4, 4)), buffers(1))
    assert run.time_ps == 174_000
    # The array waits 10 for the launch, 62 for B and A0, 41 for A1; busy 8; nothing after 121.
    assert run.attribution.stalls_ps == {"launch": 10_000, "hbm": 103_000, "drain": 53_000}


def test_two_tiles_with_two_buffers_overlap() -> None:
    # A1 follows A0 at once: 52..73, there at 93; tile 1 93..97, result at 109.
    # C0 88..109, C1 109..130, in memory at 150.
    run = simulated(matmul(8, 4, 4, tiles=(4, 4, 4)), buffers(2))
    assert run.time_ps == 150_000
    assert run.attribution.stalls_ps == {"launch": 10_000, "hbm": 79_000, "drain": 53_000}


def test_transfer_of_one_burst() -> None:
    # 4 bytes in: 5 + 1 from 10 to 16, there at 36; one addition on 4 lanes to 37;
    # 4 bytes out: 5 + 1 to 43, in memory at 63.
    run = simulated(elementwise(4, kind="add", element="i8"))
    assert run.time_ps == 63_000
    assert run.bytes == {"hbm": 8}


def test_one_byte_more_than_a_burst_moves_two() -> None:
    # 5 bytes are 2 bursts of 4: 5 + 2 from 10 to 17, there at 37; two additions to 39, the second
    # on one lane of 4; 5 + 2 to 46, in memory at 66.
    run = simulated(elementwise(5, kind="add", element="i8"))
    assert run.time_ps == 66_000
    assert run.bytes == {"hbm": 16}


def test_vector_exponential_takes_four_cycles_for_each_four_lanes() -> None:
    # 12 f32: 5 + 12 from 10 to 27, there at 47; 3 x 4 cycles to 59; 5 + 12 to 76, and 20.
    run = simulated(elementwise(12, kind="exp"))
    assert run.time_ps == 96_000
    assert run.attribution.busy_ps == 12_000


def test_array_pass_is_never_shorter_than_its_weights_take_to_load() -> None:
    # A 1 x 8 by 8 x 4 product is two passes of one row; each lasts the 4 ns that the next
    # weights load. A 32 bytes, 5 + 8: 10..23; B 128 bytes, 5 + 32: 23..60, there at 80.
    # Array 80..88, result 12 later; C 16 bytes, 5 + 4: 100..109, in memory at 129.
    assert simulated(matmul(1, 4, 8)).time_ps == 129_000
