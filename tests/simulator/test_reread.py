"""What is still in a cache when rows are read again, against a cache that is played through."""

from __future__ import annotations

import random

import msgspec
import pytest
from kernels import softmax

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.reread import missed
from xpu_shark.simulator.simulate import run_bound
from xpu_shark.simulator.target import Target, load
from xpu_shark.simulator.tilers import gpu

LINES = 2000


def _with_cache(bytes: int) -> Target:
    target = load("mi210")
    outer, _, inner = target.memory
    level = msgspec.structs.replace(target.memory[1], bytes=bytes)
    return msgspec.structs.replace(target, memory=(outer, level, inner))


def _played(lines: int) -> float:
    """Share of misses of a cache of `LINES` lines with random replacement, `lines` read in turn."""
    chance, cache, place = random.Random(0), [-1] * LINES, dict[int, int]()
    misses = 0
    for turn in range(60):
        for line in range(lines):
            if line in place:
                continue
            misses += turn >= 40  # the first turns fill it
            slot = chance.randrange(LINES)
            place.pop(cache[slot], None)
            cache[slot], place[line] = line, slot
    return misses / (20 * lines)


@pytest.mark.parametrize("load_percent", [80, 120, 170, 340])
def test_share_is_that_of_a_cache_that_replaces_at_random(load_percent: int) -> None:
    """A workgroup touches a row of f32 in and out; 104 cores have 8 of them at work."""
    touched = 104 * 8 * 2 * 4 * 8192
    kernel = bind(softmax(4096, 8192), {})
    target = _with_cache(touched * 100 // load_percent)
    share = missed(kernel, Tiling((1, 512), (0,)), target)
    assert float(share) == pytest.approx(_played(LINES * load_percent // 100), abs=0.02)


@pytest.mark.parametrize(("rows", "cols", "reads"), [(64, 4096, 1), (8192, 131072, 2)])
def test_main_memory_serves_a_pass_again_where_the_cache_is_too_small(
    rows: int, cols: int, reads: int
) -> None:
    """64 rows of 16 KiB, in and out, fit the 8 MiB of L2; 832 of 512 KiB are a hundred times as
    much. The row is read for the maximum and for the exponentials, which stay in registers."""
    target = load("mi210")
    kernel = bind(softmax(rows, cols), {})
    run = run_bound(kernel, gpu.choose(kernel, target), target)
    assert run.bytes["hbm"] == (reads + 1) * rows * cols * 4
