"""Our side of bench_peers.py, in a process of its own like the peers: nothing is warm.

    python peer_ours.py gemm SIZE TILING TARGET     TILING: given (128 x 128 x 128), default, best
    python peer_ours.py cores COUNT TILING TARGET   one GEMM of 8192 on COUNT cores
    python peer_ours.py resnet18 TILING TARGET
    python peer_ours.py engine TILES

Prints one line of JSON: CPU seconds without imports, simulated picoseconds or cycles, peak memory
in MB, and for the engine the instructions executed.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import msgspec
import resnet18

from xpu_shark.simulator import search  # noqa: F401  (imported late otherwise)
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.engine import run
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.program import Channel, Instruction, Loop, Program, Resource, Stream
from xpu_shark.simulator.simulate import run_bound, simulate_kernel
from xpu_shark.simulator.target import Target, load
from xpu_shark.simulator.workload import Kernel

LOAD, COMPUTE, STORE, BUFFERS = 7, 10, 5, 2
Result = dict[str, float]


def gemm(size: int, tiling: str, target: Target, element: str = "i8") -> Result:
    kernel = resnet18.matmul(size, size, size, element)
    start = time.process_time()
    time_ps = _simulate(kernel, tiling, target)
    return {"cpu_s": time.process_time() - start, "time_ps": time_ps}


def cores(count: int, tiling: str, target: Target) -> Result:
    return gemm(8192, tiling, msgspec.structs.replace(target, cores=count), "bf16")


def layers(tiling: str, target: Target) -> Result:
    kernels = resnet18.layers()
    start = time.process_time()
    time_ps = sum(_simulate(kernel, tiling, target) for kernel in kernels)
    return {"cpu_s": time.process_time() - start, "time_ps": time_ps}


def engine(tiles: int) -> Result:
    """The pipeline of peer_simpy.py, every instruction executed."""
    program = pipeline(tiles)
    start = time.process_time()
    timeline = run(program, fold=False)
    seconds = time.process_time() - start
    return {"cpu_s": seconds, "time": timeline.time_ps, "instructions": timeline.steps}


def pipeline(tiles: int) -> Program:
    """Load, compute and store; two buffers on either side; load and store share a memory."""
    free_in, full_in, free_out, full_out = (((channel, 1),) for channel in range(4))
    load = Instruction(0, LOAD, waits=free_in, posts=full_in)
    compute = Instruction(1, COMPUTE, waits=full_in + free_out, posts=free_in + full_out)
    store = Instruction(0, STORE, waits=full_out, posts=free_out)
    steps = {"load": load, "compute": compute, "store": store}
    return Program(
        tuple(Stream(name, (Loop(tiles, (step,), 0),)) for name, step in steps.items()),
        tuple(
            Channel(name, name, initial)
            for name, initial in (
                ("free in", BUFFERS),
                ("full in", 0),
                ("free out", BUFFERS),
                ("full out", 0),
            )
        ),
        (Resource("memory"), Resource("unit")),
    )


def _simulate(kernel: Kernel, tiling: str, target: Target) -> int:
    if tiling == "given":
        bound = bind(kernel, {})
        tile = tuple(min(128, axis.extent) for axis in bound.axes)
        order = tuple(number for number, axis in enumerate(bound.axes) if axis.parallel)
        return run_bound(bound, Tiling(tile, order, "given"), target).time_ps
    run_ = simulate_kernel(kernel, {}, target, "ir" if tiling == "default" else tiling)
    assert run_ is not None
    return run_.time_ps


def main(arguments: list[str]) -> None:
    kind, *rest = arguments
    if kind == "engine":
        result = engine(int(rest[0]))
    elif kind == "resnet18":
        result = layers(rest[0], load(rest[1]))
    else:
        case = cores if kind == "cores" else gemm
        result = case(int(rest[0]), rest[1], load(rest[2]))
    result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
