"""The tile search next to trying everything: how close, and with how few simulations."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from bench_search import KERNELS, MOST_OVER, MOST_SHARE, compare

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.target import load

pytestmark = pytest.mark.slow

# Those of benchmarks/search_kernels.py whose tilings are few enough to try here, and that have more
# than three simulations are 5 % of.
CASES = [
    ("tpu_v6e", "matmul_1024"),
    ("tpu_v6e", "matmul_4096"),
    ("tpu_v6e", "conv_3x3_56"),
    ("tpu_v6e", "conv_3x3_7"),
    ("tpu_v6e", "attention_12x512x64"),
    ("tpu_v6e", "attention_8x2048x128"),
    ("mi300x", "matmul_1024"),
    ("mi300x", "conv_1x1_56"),
    ("mi300x", "attention_12x512x64"),
    ("xdna2", "matmul_1000"),
    ("xdna2", "matmul_4096"),
    ("xdna2", "matmul_128x3072x768"),
    ("xdna2", "conv_3x3_7"),
    ("xdna2", "attention_3x197x64"),
    ("tpu_v6e", "matmul_prime"),
    ("tpu_v6e", "matmul_long_k"),
    ("tpu_v6e", "batch_matmul_12"),
    ("tpu_v6e", "conv_5x5_prime"),
    ("mi300x", "matmul_thin"),
    ("mi300x", "matmul_long_k"),
    ("mi300x", "matmul_gemv"),
    ("mi300x", "matmul_relu"),
    ("xdna2", "matmul_thin"),
    ("xdna2", "matmul_tall"),
]


@pytest.mark.parametrize(("target", "kernel"), CASES)
def test_the_search_is_near_the_best_of_all_tilings(target: str, kernel: str) -> None:
    outcome = compare(bind(KERNELS[kernel](), {}), load(target))
    assert outcome.over <= MOST_OVER
    assert outcome.share <= MOST_SHARE
