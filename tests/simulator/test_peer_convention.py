"""The machine and the layers of benchmarks/bench_peers.py, counted by hand."""

from __future__ import annotations

from pathlib import Path

import resnet18
from peer_ours import pipeline

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.engine import run
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import run_bound
from xpu_shark.simulator.target import load
from xpu_shark.simulator.work import flops

ARRAY = load(str(Path(resnet18.__file__).parent / "array128.toml"))


def cycles(size: int, tile: int) -> int:
    kernel = bind(resnet18.matmul(size, size, size, "i8"), {})
    return run_bound(kernel, Tiling((tile, tile, tile), (0, 1)), ARRAY).time_ps // 1000


def test_array_fills_and_drains_once_and_loads_weights_behind_the_pass_before() -> None:
    # 8 x 8 blocks of weights, each for 1024 rows: 65536. Then 128 to load the first block, 256 to
    # fill and drain. 16 for each first tile of 128 x 128 bytes at 1024 a cycle, 16 for the last
    # one to be stored.
    assert cycles(1024, 128) == 65536 + 128 + 256 + 2 * 16 + 16


def test_one_tile_has_nothing_to_overlap_with() -> None:
    # 65536 bytes in 64 cycles, twice; 4 blocks x 256 rows; 384; the result in 64.
    assert cycles(256, 256) == 2 * 64 + 1024 + 384 + 64


def test_resnet18_has_the_multiply_adds_of_its_definition() -> None:
    # Published as 1.8 G for 224 x 224 images; the sum over the layers' shapes, worked out once.
    kernels = [bind(kernel, {}) for kernel in resnet18.layers()]
    assert len(kernels) == len(resnet18.loop_sizes()) == 21
    assert sum(map(flops, kernels)) == 2 * resnet18.macs() == 2 * 1_814_073_344


def test_pipeline_runs_at_the_pace_of_the_memory_that_load_and_store_share() -> None:
    # The memory works 7 + 5 a tile. The first result is stored 7 + 10 + 5 = 22 after the start
    # and the memory has had one more load by then.
    tiles = 1000
    timeline = run(pipeline(tiles))
    assert timeline.resources[0].busy_ps == 12 * tiles
    assert 12 * tiles <= timeline.time_ps <= 12 * tiles + 22
