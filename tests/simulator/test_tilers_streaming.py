"""Products on a TPU keep one operand in the scratchpad and stream the rest."""

from __future__ import annotations

from kernels import elementwise, matmul

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.target import load
from xpu_shark.simulator.tilers import streaming, systolic

V6E = load("tpu_v6e")  # 128 MiB of scratchpad, steps of 16 MiB


def _tile(m: int, n: int, k: int) -> tuple[int, ...]:
    return systolic.choose(bind(matmul(m, n, k, "bf16"), {}), V6E).tile


def test_product_that_moves_one_window_is_a_single_step() -> None:
    # 8 MiB of lhs and 5 MiB of result move, 80 MiB of weights stay.
    assert _tile(512, 5120, 8192) == (512, 5120, 8192)


def test_rows_stream_past_the_weights() -> None:
    # 32 MiB of weights stay; 16 MiB of lhs and 16 MiB of result are two steps.
    assert _tile(2048, 4096, 4096) == (1024, 4096, 4096)


def test_weights_stream_past_the_larger_activations() -> None:
    # 32 MiB of lhs stay; 8 MiB of weights and 32 MiB of result are 2.5 steps, so two.
    assert _tile(8192, 2048, 2048) == (8192, 1024, 2048)


def test_weights_too_large_to_stay_stream() -> None:
    # 100 MiB of weights are more than three quarters: 101 MiB move in 6 steps of 10 x 256 columns.
    assert _tile(32, 20480, 2560) == (32, 3584, 2560)


def test_a_vector_streams_in_smaller_steps() -> None:
    # 128 MiB of weights in steps of 2 MiB: 64 steps, kept to 256 columns.
    assert _tile(1, 8192, 8192) == (1, 256, 8192)


def test_a_kernel_without_a_product_has_no_operand_to_keep() -> None:
    assert streaming.product(bind(elementwise(64, 64), {}), V6E) is None
