"""A made-up CPU for tests: 1 GHz, 8 lanes, caches of 16 and 64 lines of 64 bytes."""

from __future__ import annotations

import msgspec

from xpu_shark.simulator.target import Target

TABLES = {
    "schema": 1,
    "name": "host",
    "summary": "made up",
    "clock_hz": 1e9,
    "cores": 2,
    "execution": "waves",
    "launch_ns": 100.0,
    "tiler": "cpu",
    "memory": [
        {
            "name": "dram",
            "bytes": 1 << 30,
            "bytes_per_s": 16e9,
            "core_bytes_per_s": 8e9,
            "line_ns": 50.0,
            "burst_bytes": 64,
        },
        {
            "name": "l3",
            "bytes": 1 << 20,
            "bytes_per_s": 64e9,
            "core_bytes_per_s": 32e9,
            "line_ns": 10.0,
            "burst_bytes": 64,
            "ways": 16,
        },
        {
            "name": "l2",
            "bytes": 4096,
            "bytes_per_s": 64e9,
            "line_ns": 2.0,
            "set_line_ns": 5.0,
            "burst_bytes": 64,
            "ways": 4,
            "shared": False,
        },
        {
            "name": "l1",
            "bytes": 1024,
            "bytes_per_s": 64e9,
            "burst_bytes": 64,
            "ways": 2,
            "shared": False,
        },
    ],
    "dma": {"setup_ns": 0.0},
    "vector": {"lanes": 8, "cycles_per_op": {"default": 1.0, "exp": 16.0}},
    "core": {
        "registers": 16,
        "wake_ns": 0.0,
        "load_cycles": 0.5,
        "madd_cycles": {"default": 1.0, "bf16": 4.0},
        "latency_cycles": {"default": 3.0, "madd": 4.0},
        "fold_cycles": {"default": 1.0, "max": 2.0},
        "spill_cycles": 1.5,
        "scalar_cycles": 5.0,
        "point_cycles": 2.0,
        "masked_cycles": 20.0,
        "swap_cycles": 0.75,
        "gather_cycles": {"default": 3.0, "bf16": 18.0},
        "sort_cycles": 7.0,
        "narrow_cycles": {"bf16": 6.0},
    },
    "iree": {"backends": ["llvm-cpu"]},
}
HOST = msgspec.convert(TABLES, Target)


def changed(**core: object) -> Target:
    """The CPU with constants of its table [core] replaced."""
    assert HOST.core is not None
    return msgspec.structs.replace(HOST, core=msgspec.structs.replace(HOST.core, **core))
