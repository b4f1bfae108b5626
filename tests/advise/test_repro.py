"""What people in this field reported of other tools, each on a small program: what is said here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

INPUTS = Path(__file__).parents[1] / "inputs" / "repro"
CPU = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
Row = dict[str, Any]


def xpu_shark(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "xpu_shark.compiler.main", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def rows(name: str, target: str, *flags: str) -> list[Row]:
    path = str(INPUTS / f"{name}.mlir")
    done = xpu_shark("simulate", path, f"--xpu-target={target}", "--format=jsonl", *flags)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def of(kind: str, found: list[Row]) -> list[Row]:
    return [row for row in found if row["type"] == kind]


def rules(found: list[Row]) -> set[str]:
    return {row["rule"] for row in of("finding", found)}


def test_a_pinned_tile_that_leaves_a_remainder_is_simulated_and_named() -> None:
    found = rows("pinned_remainder", "tpu_v6e")
    [dispatch] = of("dispatch", found)
    assert dispatch["tiling"] == {"d0": 7, "d1": 64, "d2": 96}
    # 7 x 7 + 1 rows and 64 + 6 columns: B, 26,880 B, comes for each of 8 tiles of rows; A once.
    assert dispatch["bytes"]["hbm"] > 8 * 96 * 70 * 4
    [tiling] = [row for row in of("finding", found) if row["rule"] == "tiling"]
    assert "the pinned tile [7, 64, 96]" in tiling["condition"]
    assert re.search(r"\d+ % of the work in tiles cut off at an edge", tiling["condition"])


@pytest.mark.slow
def test_no_fusion_is_advised_where_there_is_one_dispatch_already() -> None:
    found = rows("group_statistics", "mi300x", "--xpu-effort=high")
    assert len(of("dispatch", found)) == 1
    assert not rules(found) & {"fusion", "launch", "standalone_copy"}


def test_a_cast_of_seven_numbers_is_bound_by_its_launch_and_joined_to_its_reader() -> None:
    found = rows("cast_broadcast", "mi300x")
    [cast] = [row for row in of("dispatch", found) if "_dispatch_0_" in row["name"]]
    assert cast["limit"] == "launch"
    [advice] = [
        row
        for row in of("finding", found)
        if row["rule"] == "launch" and row["dispatch"] == cast["name"]
    ]
    assert "bcast_dispatch_1" in advice["suggestion"]
    # One of two launches of 3 us goes, whatever little work there is.
    assert advice["saved_ns"] == pytest.approx(3000, rel=0.05)


@pytest.mark.slow
def test_gathered_rows_are_scattered_bursts_and_the_edge_to_their_reader_is_named() -> None:
    found = rows("paged_keys", "mi300x", "--xpu-effort=high")
    [gather] = [row for row in of("dispatch", found) if "_dispatch_0_" in row["name"]]
    # 40 rows of 4 x 32 f32 read and written; the rows lie apart, each a whole number of bursts.
    assert gather["bytes"]["hbm"] >= 2 * 40 * 4 * 32 * 4
    [fusion] = [row for row in of("finding", found) if row["rule"] == "fusion"]
    assert re.search(r"paged_dispatch_0\w* -> paged_dispatch_1", fusion["condition"])


def test_a_dispatch_with_two_results_stores_both() -> None:
    found = rows("two_results", "tpu_v6e", "--iree-opt-level=O2")
    moved = sum(row["bytes"]["hbm"] * row["launches"] for row in of("dispatch", found))
    # x, w and both results, once each: 64 x 128 three times and 64 x 64. Where tanh is a dispatch
    # of its own the product reads its result again.
    once = (3 * 64 * 128 + 64 * 64) * 4
    again = 64 * 128 * 4 if len(of("dispatch", found)) == 2 else 0
    assert moved == once + again


def test_prime_sizes_have_valid_tiles_and_their_padding_is_counted() -> None:
    path = str(INPUTS / "prime_matmul.mlir")
    done = xpu_shark("compile", path, *CPU, "-o", "/dev/null", "--xpu-target=tpu_v6e")
    assert done.returncode == 0, done.stderr
    # The array has 256 x 256 cells for 131 columns and 137 terms: 1 - 131 x 137 / 65536 is 72 %.
    assert "72 % of the matrix unit's work is padding" in done.stderr


def test_transposes_that_iree_folds_are_not_mentioned() -> None:
    found = rows("channels_first_conv", "tpu_v6e")
    assert len(of("dispatch", found)) == 1
    assert not rules(found) & {"standalone_copy", "layout", "fusion"}


def test_an_odd_number_of_i4_is_refused_in_iree_s_words() -> None:
    path = str(INPUTS / "odd_i4.mlir")
    done = xpu_shark("compile", path, *CPU, "-o", "/dev/null", "--xpu-target=tpu_v6e")
    assert done.returncode == 1
    assert "'tensor<15xi4>' does not have integral" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_product_of_mixed_types_gets_no_peak_of_a_unit_that_lacks_them() -> None:
    # The h100 runs f32 on its vector units.
    [dispatch] = of("dispatch", rows("mixed_matmul", "h100"))
    assert dispatch["utilization"]["matrix"] == 0
    assert dispatch["utilization"]["vector"] > 0


def test_a_working_set_beyond_the_scratchpad_is_tiled_and_its_source_line_given() -> None:
    [dispatch] = of("dispatch", rows("depthwise", "tiny"))
    assert dispatch["location"].endswith("depthwise.mlir:3:8")
    # 2 x 22 x 22 x 96 f32 are 363 KiB beside 16 KiB: no tile is whole.
    tile = list(dispatch["tiling"].values())
    assert tile != [2, 16, 16, 96, 7, 7]


def test_the_same_advice_on_every_run() -> None:
    first, second = (rows("prime_matmul", "mi300x") for _ in range(2))
    assert first == second
