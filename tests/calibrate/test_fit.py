"""Constants from made-up times: counted by hand, and found again in times that were simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from xpu_shark.compiler.calibrate import fit, measure, suite, target_text
from xpu_shark.compiler.calibrate.machine import Level, Machine, read
from xpu_shark.compiler.calibrate.measure import Timing
from xpu_shark.compiler.errors import UsageError
from xpu_shark.compiler.trace import program
from xpu_shark.simulator import target as targets
from xpu_shark.simulator.simulate import simulate_kernel
from xpu_shark.simulator.target import Target

MACHINE = Machine(
    name="made up",
    cores=2,
    memory_bytes=1 << 34,
    caches=(Level(1 << 15, 8, 64), Level(1 << 19, 8, 64), Level(1 << 25, 16, 64)),
    lanes=8,
    registers=16,
)
NAMES = [kernel.name for kernel in suite.suite(MACHINE)]


def times(**ns: float) -> dict[str, Timing]:
    """Every kernel at a microsecond, but for those given."""
    return {name: Timing(ns.get(name, 1000.0), 0.02) for name in NAMES}


def test_clock_chain_and_ports_follow_from_their_kernels() -> None:
    # 2 GHz: 2 x 32768 operations of a cycle take 32768 ns. 65536 multiply-adds one after another
    # at 4 cycles: 131072 ns. 2 x 64 workgroups of 64 x 64 x 64 in tiles of 8 x 4: 1048576 steps of
    # 9 loads at half a cycle, on two cores: 1179648 ns; in tiles of 6 x 16, of three times as many
    # rows, as many steps of 12 multiply-adds at 0.75: 2359296 ns; so 8 halves take 4.5 cycles of 6.
    # Chains of 64 steps that take 2 cycles a step: as many again run beside them. 32768 steps in
    # one lane at 3 cycles.
    found = fit.fit(
        MACHINE,
        times(
            ticks=32768,
            product_chain=131072,
            product_half=1179648,
            product_madds=2359296,
            product_short=32768,
            product_edge=196608 + 1000,
            wake_one=2000.0,  # and a thousand on both: nobody sleeps
        ),
    )
    assert found["clock_hz"] == pytest.approx(2e9)
    core = found["core"]
    assert core["latency_cycles"]["madd"] == pytest.approx(4.0)
    assert core["load_cycles"] == pytest.approx(0.5)
    assert core["half_share"] == pytest.approx(0.75)
    assert core["madd_cycles"]["default"] == pytest.approx(0.75)
    assert core["window"]["madd"] == pytest.approx(64.0)
    assert core["scalar_cycles"] == pytest.approx(3.0)


def test_operations_behind_additions_are_told_apart() -> None:
    # 1 GHz, 2048 vectors. 33 additions of one cycle: 67584 ns. 16 maxima of 3 cycles and 17
    # additions: 65 cycles, 133120 ns. 32 comparisons and choices of half a cycle: 33 cycles.
    found = fit.fit(MACHINE, times(ticks=65536, each_add=67584, each_max=133120, each_select=67584))
    operations = found["vector"]["cycles_per_op"]
    assert operations["default"] == pytest.approx(1.0)
    assert operations["max"] == pytest.approx(3.0)
    assert operations["compare"] == operations["select"] == pytest.approx(0.5)


def test_the_time_that_a_core_sleeps_follows_from_both_runs() -> None:
    # 40 us of one core; with a second from 10 us on: 10 + 30 / 2 = 25 us.
    found = fit.fit(MACHINE, times(wake_one=40_000, wake_all=25_000))
    assert found["core"]["wake_ns"] == pytest.approx(10_000)


def test_what_a_core_waits_for_memory_follows_from_wide_tiles() -> None:
    # 64 MiB in 1025 x 1024 lines; tiles of 8 rows take 10 ns of one core a line, of two 5. Chains
    # of 64 steps as above: a core looks 64 multiply-adds ahead, 8 lines, which come after 80 ns.
    # Rows a quarter of a page apart, 64 matrices of 16 x 1024 lines, take 6 ns; streams 1 ns, the
    # arithmetic of a line 2: of the 8 ns between prefetchers hide 4.
    lines, near = 1025 * 1024, 64 * 16 * 1024
    found = fit.fit(
        MACHINE,
        times(
            ticks=65536,
            product_chain=262144,
            product_short=65536,
            product_madds=4718592 / 3,
            stream_dram_all=4 * (1 << 25) / 64 / 2,
            wide_dram=5.0 * lines,
            wide_near=3.0 * near,
            line_dram=3.0 * lines / 2,
            wake_one=2000.0,
        ),
    )
    assert found["core"]["madd_cycles"]["default"] == pytest.approx(0.25)
    assert found["memory"][0]["latency_ns"] == pytest.approx(80.0)
    assert found["core"]["followed"] == pytest.approx(0.5)


def test_shuffles_are_told_apart_from_multiply_adds() -> None:
    # 1 GHz. 512 x 64 x 64 in tiles of one row: 262144 steps of 8 elements at half a cycle. With 8
    # rows 32768 steps, 1 cycle longer than 8 of 1 cycle: a quarter of the 4 of the shuffles.
    found = fit.fit(
        MACHINE,
        times(
            ticks=65536,
            product_madds=2359296 * 8 / 3,
            product_turned_one=262144 * 4,
            product_block=32768 * 8,
            product_turned=32768 * 9,
            wake_one=2000.0,
        ),
    )
    assert found["core"]["shuffle_cycles"] == pytest.approx(0.5)
    assert found["core"]["shuffle_share"] == pytest.approx(0.25)


def test_what_masked_sums_take_is_behind_a_product_of_whole_tiles() -> None:
    # 1 GHz. 512 rows in tiles of 8, 64 steps: 4096 times 8 sums and an operand of 16 elements, at
    # half a cycle each.
    took = 4096 * 9 * 16 / 2
    found = fit.fit(MACHINE, times(ticks=65536, product_block=5000, product_apart=5000 + took))
    assert found["core"]["apart_cycles"] == pytest.approx(0.5)


def test_lines_asked_for_one_by_one_are_compared_with_those_asked_for_in_turns() -> None:
    # Two cores, one of which sleeps a microsecond: 2 x 5 - 1 and 2 x 8 - 1 us.
    found = fit.fit(
        MACHINE,
        times(line_l2_single=5000, line_l2_set=8000, wake_one=2000.0, wake_all=2000.0),
    )
    wake = found["core"]["wake_ns"]
    assert found["core"]["single_share"] == pytest.approx((10_000 - wake) / (16_000 - wake))


def test_rates_are_three_arrays_over_the_time() -> None:
    # Arrays of 1 MiB: 3 MiB in 96 us on one core, in 64 us on two that nobody had to wake.
    mib3 = 3 * (1 << 20)
    found = fit.fit(MACHINE, times(stream_l3_one=96_000, stream_l3_all=64_000, wake_one=2000.0))
    (level,) = (level for level in found["memory"] if level["name"] == "l3")
    assert level["core_bytes_per_s"] == pytest.approx(mib3 / 96e-6)
    assert level["bytes_per_s"] == pytest.approx(mib3 / 64e-6)


def test_the_spread_is_stated_and_the_file_loads(tmp_path: Path) -> None:
    taken = times(ticks=32768) | {"each_exp": Timing(2000.0, 0.25)}
    tables = fit.fit(MACHINE, taken)
    text = target_text.text(MACHINE, tables, taken, "3.13")
    assert text == target_text.text(MACHINE, tables, taken, "3.13")
    assert "exp = 1.0" not in text
    assert any("# each_exp, 25.0%" in line for line in text.splitlines() if "exp =" in line)
    path = tmp_path / "host.toml"
    path.write_text(text)
    loaded = targets.load(str(path))
    assert loaded.name == "host"
    assert loaded.uncertainty.compute == pytest.approx(0.25)
    assert loaded.uncertainty.bandwidth == pytest.approx(0.02)


def test_every_constant_names_its_kernel() -> None:
    assert set(target_text.SOURCES.values()) <= set(NAMES)
    text = target_text.text(MACHINE, fit.fit(MACHINE, times()), times(), "3.13")
    bare = [
        line
        for line in text.splitlines()
        if " = " in line and "#" not in line and not line.startswith("[")
    ]
    assert {line.partition(" =")[0] for line in bare} <= {
        *(
            "schema",
            "name",
            "summary",
            "device",
            "cores",
            "execution",
            "tiler",
            "bytes",
            "burst_bytes",
        ),
        *("shared", "ways", "setup_ns", "lanes", "registers", "backends"),
        *("bandwidth", "latency", "launch", "compute"),
    }


def test_a_system_that_does_not_tell_its_caches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not tell size, ways and line of a level 1 cache"):
        read(tmp_path)


def test_caches_are_read_from_the_system(tmp_path: Path) -> None:
    sizes = [(1, "Instruction", "64K"), (1, "Data", "48K"), (2, "Unified", "2048K")]
    for number, (level, kind, size) in enumerate([*sizes, (3, "Unified", "36M")]):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, value in [("level", level), ("type", kind), ("size", size)]:
            (folder / name).write_text(f"{value}\n")
        (folder / "ways_of_associativity").write_text("12\n")
        (folder / "coherency_line_size").write_text("64\n")
    found = read(tmp_path)
    assert [cache.bytes for cache in found.caches] == [48 << 10, 2 << 20, 36 << 20]
    assert found.caches[0].sets == 64


def _planted() -> Target:
    """A machine with constants unlike those of any default, and the sizes of `MACHINE`."""
    tables: dict[str, Any] = fit.fit(MACHINE, times(ticks=32768))
    tables["core"] |= {
        "wake_ns": 9000.0,
        "load_cycles": 0.75,
        "half_share": 0.875,
        "followed": 1.0,
        "window": {"default": 60.0, "madd": 30.0},
        "spill_cycles": 1.25,
        "madd_cycles": {"default": 0.875, "bf16": 2.5, "f16": 5.0, "i8": 1.5},
        "latency_cycles": {"default": 3.0, "max": 2.0, "madd": 5.0, "bf16": 9.0, "f16": 12.0},
        "fold_cycles": {"default": 1.1, "max": 1.7},
        "scalar_cycles": 3.5,
        "point_cycles": 2.25,
    }
    for level, rate, own in zip(
        tables["memory"], (30e9, 60e9, 80e9, 85.3e9), (15e9, 40e9, 0, 0), strict=True
    ):
        level["bytes_per_s"] = rate
        if own:
            level["core_bytes_per_s"] = own
    # More than a step of two rows takes: 5 cycles of a chain at 2 GHz.
    line = {"dram": (20.0, None), "l3": (8.0, 10.0), "l2": (4.0, 6.0)}
    for level in tables["memory"][:3]:
        level["line_ns"], level["set_line_ns"] = line[level["name"]]
        level["few_line_ns"] = level["line_ns"]
    tables["vector"]["cycles_per_op"] |= {"default": 0.5, "max": 2.0, "erf": 25.0, "pow": 50.0}
    return msgspec.convert(tables, Target)


@pytest.mark.slow
def test_planted_constants_are_found_in_simulated_times(tmp_path: Path) -> None:
    """The kernels, read from their MLIR as any program is, are simulated on a machine; what is
    fitted to those times is that machine."""
    planted = _planted()
    path = tmp_path / "kernels.mlir"
    path.write_text("\n".join(kernel.text for kernel in suite.suite(MACHINE)))
    workload = program.read(str(path), measure.FLAGS)
    by_function = {
        function.name: next(k for k in workload.kernels if k.name in str(function.body))
        for function in workload.functions
        if function.body
    }
    one = msgspec.structs.replace(planted, cores=1)
    ns = {}
    for kernel in suite.suite(MACHINE):
        machine = one if kernel.threads else planted
        run = simulate_kernel(by_function[kernel.name], {}, machine)
        assert run is not None
        ns[kernel.name] = run.time_ps / 1e3 - planted.launch_ns
    ns["ticks"] = suite.TICKS * 2e9 / planted.clock_hz
    found = fit.check(fit.fit(MACHINE, {name: Timing(time, 0.0) for name, time in ns.items()}))
    assert found.core is not None
    assert planted.core is not None
    for name in ("load_cycles", "spill_cycles", "scalar_cycles", "point_cycles", "half_share"):
        assert getattr(found.core, name) == pytest.approx(getattr(planted.core, name), rel=0.15)
    for table in ("madd_cycles", "latency_cycles", "fold_cycles", "window"):
        got, want = getattr(found.core, table), getattr(planted.core, table)
        assert got == pytest.approx(want, rel=0.15), table
    # What caches stream shows nowhere: the simulator takes operands of a launch for out of them.
    assert found.memory[0].bytes_per_s == pytest.approx(planted.memory[0].bytes_per_s, rel=0.15)
    for level, same in zip(found.memory, planted.memory, strict=True):
        assert level.line_ns == pytest.approx(same.line_ns, rel=0.2, abs=0.2), level.name
    operations, planned = found.vector.cycles_per_op, planted.vector.cycles_per_op
    for kind in ("default", "max", "erf", "pow"):
        assert operations[kind] == pytest.approx(planned[kind], rel=0.15), kind
