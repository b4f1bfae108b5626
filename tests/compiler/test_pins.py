"""Tile sizes that the input fixes are those that are simulated, on any target."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from xpu_shark.compiler.input_bytes import mentions

CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
INPUTS = Path(__file__).parents[1] / "inputs"
PINNED = str(INPUTS / "pinned_matmul.mlir")


def dispatch(done: subprocess.CompletedProcess[bytes]) -> dict[str, object]:
    """The only dispatch of a report in jsonl."""
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    (found,) = (row for row in rows if row["type"] == "dispatch")
    return dict(found)


@pytest.mark.parametrize(
    ("target", "tile"),
    # A single core takes the innermost tile in turn; many cores share out the workgroups.
    [("tiny", {"d0": 8, "d1": 16, "d2": 24}), ("a100", {"d0": 60, "d1": 32, "d2": 24})],
)
def test_a_pinned_tile_wins_over_the_targets_own(
    run: Run, target: str, tile: dict[str, int]
) -> None:
    done = run(
        "simulate", PINNED, f"--xpu-target={target}", "--xpu-tiling=default", "--format=jsonl"
    )
    assert dispatch(done)["tiling"] == tile


def test_edge_tiles_of_a_pin_are_counted_apart(run: Run) -> None:
    # Passes of 8 and 4 rows through the 4 columns and 4 rows of tiny's array: a tile's time goes
    # with its rows and columns in steps of 4, so tiles cut off have (60*40 - 56*32) / (60*40).
    done = run("simulate", PINNED, "--xpu-target=tiny", "--format=jsonl")
    assert dispatch(done)["edge_share"] == pytest.approx(608 / 2400, rel=1e-4)


def test_a_pin_is_found_in_bytecode_and_on_standard_input(
    run: Run, iree_compile: Run, tmp_path: Path
) -> None:
    text = Path(PINNED).read_bytes()
    flags = ("--compile-to=input", "--emit-mlir-bytecode", "-o", "in.mlirbc", *CPU)
    assert iree_compile(PINNED, *flags).returncode == 0
    for source, stdin in (("in.mlirbc", b""), ("-", text)):
        done = run("simulate", source, "--xpu-target=tiny", "--format=jsonl", *CPU, stdin=stdin)
        assert dispatch(done)["tiling"] == {"d0": 8, "d1": 16, "d2": 24}


def test_a_compile_that_starts_after_the_pins_says_nothing_of_them(
    run: Run, iree_compile: Run
) -> None:
    done = iree_compile(PINNED, *CPU, "--compile-to=executable-configurations", "-o", "late.mlir")
    assert done.returncode == 0
    late = ("late.mlir", "--compile-from=executable-configurations", "-o", "late.vmfb")
    done = run("compile", *late, "--xpu-target=tiny")
    assert (done.returncode, b"skipped" in done.stderr) == (0, False)


def test_words_are_found_across_the_pieces_that_are_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b" " * ((1 << 20) - 3) + b"lowering_config")
    assert mentions(str(path), ("lowering_config",))
    assert not mentions(str(path), ("compilation_info",))
    assert not mentions(os.devnull, ("compilation_info",))
    assert not mentions(str(tmp_path / "missing"), ("compilation_info",))
