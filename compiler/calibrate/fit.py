"""From times of the kernels to constants of the machine: one closed form for each constant.

`ns` is a time of one launch. Steps are those of the kernel's innermost loop, from its sizes in
`suite`; each form takes off what constants found before it explain.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

import msgspec

from xpu_shark.compiler.calibrate import suite
from xpu_shark.compiler.calibrate.machine import Machine
from xpu_shark.compiler.calibrate.measure import Timing
from xpu_shark.simulator.target import Target

LEAST: Final = 0.01  # cycles: noise can make a small difference of two times negative
FLOAT_BYTES: Final = 4
NAME: Final = "host"  # what recordings on this machine are compared with


def fit(machine: Machine, times: Mapping[str, Timing]) -> dict[str, Any]:
    """The target's tables. Raises nothing: `check` does."""
    ns = {name: timing.ns for name, timing in times.items()}
    ghz = 2 * suite.TICKS / ns["ticks"]
    vector = _vector(machine, ns, ghz)
    core = _core(machine, ns, ghz, vector["compare"])
    return {
        "schema": 1,
        "name": NAME,
        "summary": f"{machine.name}, {machine.cores} cores, through IREE's llvm-cpu",
        "device": f"{machine.name}, {machine.cores} cores",  # as trace.this_machine says it
        "clock_hz": ghz * 1e9,
        "cores": machine.cores,
        "execution": "waves",
        "launch_ns": ns["launch"],
        "tiler": "cpu",
        "memory": _memory(machine, ns, ghz, core),
        "dma": {"setup_ns": 0.0},
        "vector": {"lanes": machine.lanes, "cycles_per_op": vector},
        "core": core,
        "iree": {"backends": ["llvm-cpu"]},
        "uncertainty": uncertainty(times),
    }


def check(tables: Mapping[str, Any]) -> Target:
    """The tables as a target. Raises `msgspec.ValidationError` for a constant that cannot be."""
    return msgspec.convert(tables, Target)


def uncertainty(times: Mapping[str, Timing]) -> dict[str, float]:
    """The largest spread of the kernels that each kind of constant comes from."""

    def most(*starts: str) -> float:
        return max(t.spread for name, t in times.items() if name.startswith(starts))

    return {
        "bandwidth": most("stream", "line"),
        "latency": most("line", "wide"),
        "launch": most("launch", "wake"),
        "compute": most("product", "each", "row"),
    }


def _core(machine: Machine, ns: Mapping[str, float], ghz: float, compare: float) -> dict[str, Any]:
    lanes, cores = machine.lanes, machine.cores
    wake = (cores * ns["wake_all"] - ns["wake_one"]) / (cores - 1) if cores > 1 else 0.0
    wake = max(0.0, wake)

    def step(name: str, wide: int) -> float:
        """Cycles of a step of a register tile that has `wide` results for each lane."""
        spent = _together(machine, ns[f"product_{name}"], wake)
        size = suite.madds_size if name == "madds" else suite.product_size
        return max(LEAST, spent * ghz * wide * lanes / prod(size(machine)))

    def fetched(name: str) -> float:
        """Cycles an element, beside a sum that moves as much in whole vectors."""
        return max(LEAST, (ns[name] - ns["each_copy"]) * ghz / prod(suite.SHAPE))

    madds = {"default": step("madds", 2 * suite.MADDS) / (2 * suite.MADDS)}
    half = step("half", 4)
    load = half / 9  # of a step of eight rows
    share = min(1.0, half / 8 / madds["default"])
    spilled = 8 * 4 + 4 + 1 - machine.registers
    spill = max(LEAST, (step("spills", 32) - 32 * madds["default"]) / spilled)
    for element, (_, wide) in suite.PRODUCTS.items():
        lost = max(0, 8 * wide + wide + 1 - machine.registers) * spill
        madds[element] = max(LEAST, (step(element, 8 * wide) - lost) / (8 * wide))
    edge = ns["product_edge"] - ns["product_block"]
    steps = suite.EDGE_ROWS * suite.BLOCK * suite.BLOCK / lanes  # of one row and one register
    single, several = (
        max(LEAST, _together(machine, ns[f"line_l2_{name}"], wake)) for name in ("single", "set")
    )
    apart = ns["product_apart"] - ns["product_block"]
    summed = suite.EDGE_ROWS // suite.APART_ROWS * suite.BLOCK  # steps, with an operand's vectors
    shuffle = ns["product_turned_one"] * ghz / steps / lanes
    beside = (ns["product_turned"] - ns["product_block"]) * ghz / (steps / 8)
    elements = prod(suite.SHAPE)
    each = elements / lanes
    add = _per_vector(machine, ns["each_add"], ghz) / (2 * suite.REPEATS + 1)
    copy = ns["each_copy"] / elements
    masked = ns["each_masked"] - copy * prod(suite.MASKED)
    gathers = {"default": fetched("each_gather")}
    gathers |= {element: fetched(f"each_gather_{element}") for element in suite.NARROW}
    sorted_ = ns["each_sort"] * ghz / (suite.SORTED * (suite.SORTED - 1))
    chain = ns["row_add"] * ghz / prod(suite.ROW)
    chains = {"madd": "product_chain"} | {e: f"product_{e}_chain" for e in suite.NARROW}
    waits = {kind: ns[name] * ghz / (16 * suite.CHAIN_DEPTH) for kind, name in chains.items()}
    short = ns["product_short"] * ghz / prod(suite.SHORT)
    return {
        "registers": machine.registers,
        "wake_ns": wake,
        "load_cycles": load,
        "half_share": share,
        "madd_cycles": madds,
        "latency_cycles": {
            "default": chain,
            "max": ns["row_max"] * ghz / prod(suite.ROW),
            **waits,
        },
        "fold_cycles": {
            "default": ns["rows_add"] * ghz / prod(suite.ROWS),
            "max": ns["rows_max"] * ghz / prod(suite.ROWS),
        },
        "window": {
            "default": _window(
                suite.SHORT_ROWS[1], chain, ns["row_short"] * ghz / prod(suite.SHORT_ROWS)
            ),
            "madd": _window(suite.SHORT[1], waits["madd"], short),
        },
        "followed": _followed(machine, ns, madds["default"] / ghz * suite.WIDE_ROWS, wake),
        "spill_cycles": spill,
        "scalar_cycles": max(LEAST, edge * ghz / (suite.EDGE_ROWS * lanes // 2 * suite.BLOCK)),
        "point_cycles": ns["each_point"] * ghz / prod(suite.REORDERED),
        "masked_cycles": max(LEAST, masked * ghz / _vectors(suite.MASKED, lanes)),
        "ragged_cycles": ns["product_ragged"]
        * ghz
        / (suite.EDGE_ROWS * (lanes * 3 // 2) * suite.BLOCK),
        "apart_cycles": max(LEAST, apart * ghz / (summed * (suite.APART_ROWS + 1) * 2 * lanes)),
        "single_share": min(1.0, single / several),
        "shuffle_cycles": shuffle,
        "shuffle_share": min(1.0, max(0.0, beside / min(shuffle * lanes, 8 * madds["default"]))),
        "swap_cycles": ns["each_swap"] * ghz / prod(suite.SWAPPED),
        "gather_cycles": gathers,
        "sort_cycles": max(LEAST, sorted_ - compare),
        "narrow_cycles": {
            element: max(LEAST, ns[f"each_{element}"] * ghz / each - add)
            for element in suite.NARROW
        },
    }


def _followed(machine: Machine, ns: Mapping[str, float], arithmetic: float, wake: float) -> float:
    """Share of the lines of near rows that prefetchers fetch in time: what is left of the wait
    for a line, of which neither bandwidth nor the arithmetic beside it (both in ns) is a part."""
    far, near = _wide(machine, ns, "dram", wake), _wide(machine, ns, "near", wake)
    moved = 4.0 * suite.stream_bytes(machine)["dram"]
    streamed = (
        _together(machine, ns["stream_dram_all"], wake) * machine.caches[0].line_bytes / moved
    )
    least = max(arithmetic, streamed)
    return min(1.0, max(0.0, far - near) / (far - least)) if far > least else 1.0


def _wide(machine: Machine, ns: Mapping[str, float], name: str, wake: float) -> float:
    """What one line takes beside the steps of a register tile of `WIDE_ROWS` rows."""
    _, n, k = suite.wide_sizes(machine)[f"wide_{name}"]
    batch = suite.near_batch(machine) if name == "near" else 1
    lines = batch * n * k * FLOAT_BYTES / machine.caches[0].line_bytes
    return _together(machine, ns[f"wide_{name}"], wake) / lines


def _window(length: int, latency: float, each: float) -> float:
    """Operations that a core looks ahead, if steps of chains of `length` take `each` cycles."""
    return max(0.0, length * (latency / each - 1))


def _vector(machine: Machine, ns: Mapping[str, float], ghz: float) -> dict[str, float]:
    """Cycles of one operation on as many elements as there are lanes."""

    def each(kind: str) -> float:
        return _per_vector(machine, ns[f"each_{kind}"], ghz)

    def behind(kind: str) -> float:
        """Of those that have an addition behind each."""
        return max(LEAST, (each(kind) - (repeats + 1) * add) / repeats)

    repeats = suite.REPEATS
    add = each("add") / (2 * repeats + 1)
    pick = max(LEAST, (each("select") - (repeats + 1) * add) / (2 * repeats))
    found = {
        "default": add,
        # A product and the sum behind it are one instruction.
        "madd": min(add, each("mul") / (repeats + 1)),
        "max": behind("max"),
        "compare": pick,
        "select": pick,
        "convert": behind("convert") / suite.CONVERSIONS,
    }
    return found | {kind: each(kind) for kind in suite.FUNCTIONS}


def _memory(
    machine: Machine, ns: Mapping[str, float], ghz: float, core: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Levels from main memory to the nearest cache."""
    near, second, last = machine.caches
    line = near.line_bytes
    moved = {name: 3.0 * size for name, size in suite.stream_bytes(machine).items()}
    moved["dram"] *= 4 / 3  # memory also sends what is written over: caches allocate on a write
    shared: list[dict[str, Any]] = []
    for name, size in (("dram", machine.memory_bytes), ("l3", last.bytes)):
        one = moved[name] / ns[f"stream_{name}_one"] * 1e9
        busy = _together(machine, ns[f"stream_{name}_all"], core["wake_ns"]) / machine.cores
        all_ = moved[name] / max(LEAST, busy) * 1e9
        rates = {"bytes_per_s": max(one, all_), "core_bytes_per_s": one}
        shared.append({"name": name, "bytes": size, **rates, "burst_bytes": line})
    wide = _wide(machine, ns, "dram", core["wake_ns"])
    latency = wide * core["window"]["madd"] / suite.WIDE_ROWS
    cold, few = (_cold_line(machine, ns, name, core) for name in ("line_dram", "line_dram_few"))
    shared[0] |= {"latency_ns": latency, "line_ns": cold, "few_line_ns": max(cold, few)}
    near_line, far_line = _line(machine, ns, "l2", core), _line(machine, ns, "l3", core)
    few = _cost(machine, ns, "line_l2_few", core)
    for key, cost in far_line.items():  # L2 keeps a part of such a column
        kept = near_line[key] / suite.BEYOND
        far_line[key] = max(0.0, cost - kept) / (1 - 1 / suite.BEYOND)
    one, two = (_cost(machine, ns, f"line_l3{end}", core) for end in ("", "_next"))
    behind = min(1.0, max(0.0, 2 * two / max(one, LEAST) - 1))
    shared[1] |= {"ways": last.ways, **far_line, "next_line_share": behind}
    private = {
        "name": "l2",
        "bytes": second.bytes,
        "bytes_per_s": moved["l2"] / ns["stream_l2_one"] * 1e9,
        "burst_bytes": line,
        "shared": False,
        "ways": second.ways,
        **near_line,
        "few_line_ns": max(near_line["line_ns"], few),
    }
    nearest = {
        "name": "l1",
        "bytes": near.bytes,
        "bytes_per_s": machine.lanes
        * FLOAT_BYTES
        * core["half_share"]
        / core["load_cycles"]
        * ghz
        * 1e9,
        "burst_bytes": line,
        "shared": False,
        "ways": near.ways,
    }
    return [*shared, private, nearest]


def _line(
    machine: Machine, ns: Mapping[str, float], level: str, core: Mapping[str, Any]
) -> dict[str, float]:
    """What one line takes, with all cores at work: the arithmetic beside it is less."""
    return {
        "line_ns": _cost(machine, ns, f"line_{level}", core),
        "set_line_ns": _cost(machine, ns, f"line_{level}_set", core),
    }


def _cost(machine: Machine, ns: Mapping[str, float], name: str, core: Mapping[str, Any]) -> float:
    m, n, k = suite.line_sizes(machine)[name]
    return _together(machine, ns[name], core["wake_ns"]) / (m / 2 * n / machine.lanes * k)


def _cold_line(
    machine: Machine, ns: Mapping[str, float], name: str, core: Mapping[str, Any]
) -> float:
    """Every line of a matrix is read once."""
    _, n, k = suite.line_sizes(machine)[name]
    lines = n * k * FLOAT_BYTES / machine.caches[0].line_bytes
    return _together(machine, ns[name], core["wake_ns"]) / lines


def _together(machine: Machine, ns: float, wake_ns: float) -> float:
    """Nanoseconds of all cores in a launch that takes `ns`; all but one sleep at first."""
    return max(0.0, machine.cores * ns - (machine.cores - 1) * wake_ns)


def _per_vector(machine: Machine, ns: float, ghz: float) -> float:
    return ns * ghz * machine.lanes / prod(suite.SHAPE)


def _vectors(shape: tuple[int, int], lanes: int) -> int:
    return shape[0] * -(-shape[1] // lanes)
