"""The target file that a calibration writes: its tables, with the spread behind each constant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xpu_shark.compiler.calibrate import suite, toml_text
from xpu_shark.compiler.calibrate.machine import Machine
from xpu_shark.compiler.calibrate.measure import Timing

HEAD = """Written by xpu-shark calibrate: {name}, {cores} cores.

Measured through IREE {version}, llvm-cpu with this CPU's features, one dispatch a kernel. Behind
each constant stands the kernel that it follows from, and its spread: how much longer the median of
all calls is than that of the quietest round. Sizes of caches are the system's."""

# Keys of the file by the kernel that gives them; those of a table in one.
SOURCES = {
    "clock_hz": "ticks",
    "launch_ns": "launch",
    "memory.dram.bytes_per_s": "stream_dram_all",
    "memory.dram.core_bytes_per_s": "stream_dram_one",
    "memory.dram.latency_ns": "wide_dram",
    "memory.dram.line_ns": "line_dram",
    "memory.dram.few_line_ns": "line_dram_few",
    "memory.l3.bytes_per_s": "stream_l3_all",
    "memory.l3.core_bytes_per_s": "stream_l3_one",
    "memory.l3.line_ns": "line_l3",
    "memory.l3.next_line_share": "line_l3_next",
    "memory.l3.set_line_ns": "line_l3_set",
    "memory.l2.bytes_per_s": "stream_l2_one",
    "memory.l2.line_ns": "line_l2",
    "memory.l2.few_line_ns": "line_l2_few",
    "memory.l2.set_line_ns": "line_l2_set",
    "memory.l1.bytes_per_s": "product_half",
    "core.wake_ns": "wake_all",
    "core.load_cycles": "product_half",
    "core.half_share": "product_half",
    "core.madd_cycles.default": "product_madds",
    "core.latency_cycles.default": "row_add",
    "core.latency_cycles.madd": "product_chain",
    "core.latency_cycles.max": "row_max",
    "core.fold_cycles.default": "rows_add",
    "core.fold_cycles.max": "rows_max",
    "core.window.default": "row_short",
    "core.window.madd": "product_short",
    "core.followed": "wide_near",
    "core.spill_cycles": "product_spills",
    "core.scalar_cycles": "product_edge",
    "core.point_cycles": "each_point",
    "core.masked_cycles": "each_masked",
    "core.ragged_cycles": "product_ragged",
    "core.apart_cycles": "product_apart",
    "core.single_share": "line_l2_single",
    "core.shuffle_cycles": "product_turned_one",
    "core.shuffle_share": "product_turned",
    "core.swap_cycles": "each_swap",
    "core.gather_cycles.default": "each_gather",
    "core.sort_cycles": "each_sort",
    "vector.cycles_per_op.default": "each_add",
    "vector.cycles_per_op.madd": "each_mul",
    "vector.cycles_per_op.max": "each_max",
    "vector.cycles_per_op.compare": "each_select",
    "vector.cycles_per_op.select": "each_select",
    "vector.cycles_per_op.convert": "each_convert",
    **{f"vector.cycles_per_op.{kind}": f"each_{kind}" for kind in suite.FUNCTIONS},
    **{f"core.madd_cycles.{element}": f"product_{element}" for element in suite.PRODUCTS},
    **{f"core.latency_cycles.{element}": f"product_{element}_chain" for element in suite.NARROW},
    **{f"core.gather_cycles.{element}": f"each_gather_{element}" for element in suite.NARROW},
    **{f"core.narrow_cycles.{element}": f"each_{element}" for element in suite.NARROW},
}


def text(
    machine: Machine, tables: Mapping[str, Any], times: Mapping[str, Timing], version: str
) -> str:
    """The whole file; the same for the same times."""
    comments = {key: f"{name}, {times[name].spread:.1%}" for key, name in SOURCES.items()}
    head = HEAD.format(name=machine.name, cores=machine.cores, version=version)
    return toml_text.write(tables, comments, head)
