"""Sizes that break simulators: the cost depends on the code, not on the extents."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from kernels import elementwise, matmul, pinned, softmax

from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.plan import Tiling, few_edges
from xpu_shark.simulator.simulate import simulate_kernel
from xpu_shark.simulator.target import load
from xpu_shark.simulator.workload import Kernel

# CPU seconds; a tenth or less is what a quiet machine takes.
LIMIT_S = 1.0
CASES = {
    "a trillion points": elementwise(1 << 40),
    "16384 cubed": matmul(16384, 16384, 16384, "bf16"),
    "2^20 cubed": matmul(1 << 20, 1 << 20, 1 << 20, "bf16"),
    "large prime": matmul(1_000_003, 1_000_003, 1_000_003, "bf16"),
    "three large axes": elementwise(2048, 1024, 1024, kind="add"),
    "a million tiles": matmul(400, 400, 400, tiles=(4, 4, 4)),
    "a million tiles with edges": matmul(401, 403, 405, tiles=(4, 4, 4)),
    "a long row": softmax(1, 1 << 26),
    "many rows": softmax(1 << 20, 1 << 12),
    "six axes with edges": pinned((5,) * 6, (2,) * 6),
    "twelve axes with edges": pinned((5,) * 12, (2,) * 12),
}


@pytest.mark.parametrize("name", ["tiny", "tpu_v6e", "h100"])
@pytest.mark.parametrize("kernel", CASES.values(), ids=CASES.keys())
def test_time_does_not_grow_with_the_extents(name: str, kernel: Kernel) -> None:
    target = load(name)
    start = time.process_time()
    run = simulate_kernel(kernel, {}, target)
    assert time.process_time() - start < LIMIT_S
    assert run is not None
    assert run.time_ps >= run.bounds.bound_ps > 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_does_not_grow_with_the_extents() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from kernels import matmul\n"
        "from xpu_shark.simulator.simulate import simulate_kernel\n"
        "from xpu_shark.simulator.target import load\n"
        "simulate_kernel(matmul(1 << 20, 1 << 20, 1 << 20, 'bf16'), {}, load('tpu_v6e'))\n"
        # Not getrusage: its maximum includes the process that this one was forked from.
        "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])\n"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    kilobytes = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert int(kilobytes) < 200 * 1024


def test_axes_past_the_limit_of_edges_are_not_cut() -> None:
    run = simulate_kernel(pinned((6, *[5] * 8), (4, *[2] * 8)), {}, load("h100"))
    assert run is not None
    # Nine axes with edges: the longest and the first six of the others keep their tiles.
    assert list(run.tiling.values()) == [4, *[2] * 6, 5, 5]


def test_edges_are_of_what_is_moved() -> None:
    kernel = bind(pinned((6, *[5] * 8), (4, *[2] * 8)), {})
    tiling = Tiling((2, *[2] * 8), tuple(range(9)), moved=(4, *[4] * 8))
    found = few_edges(kernel, tiling)
    assert (found.tile, found.moved) == (tiling.tile, (4, *[4] * 6, 5, 5))
    whole = msgspec.structs.replace(tiling, moved=(6, *[5] * 8))
    assert few_edges(kernel, whole) == whole


def test_work_of_a_power_of_two_larger_kernel_scales() -> None:
    # Compute bound and long, so eight times the work is eight times the time, to 5 %.
    target = load("tpu_v6e")
    small, large = (
        simulate_kernel(matmul(size, size, size, "bf16", tiles=(1024, 1024, 512)), {}, target)
        for size in (16384, 32768)
    )
    assert small is not None
    assert large is not None
    assert large.time_ps == pytest.approx(8 * small.time_ps, rel=0.05)
