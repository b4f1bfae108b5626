"""Advice on communication, on whole per-device programs."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT.parent / "shared" / "programs" / "collectives"
WASTE = {"combine_collectives", "gather_slice", "reduce_slice", "gather_both"}
needs_programs = pytest.mark.skipif(not PROGRAMS.is_dir(), reason="the programs are not here")

Row = dict[str, Any]


@cache
def rows(source: Path, target: str, devices: int = 8) -> tuple[Row, ...]:
    command = [sys.executable, "-m", "xpu_shark.compiler.main", "simulate", str(source)]
    command += [f"--xpu-target={target}", f"--xpu-devices={devices}", "--format=jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return tuple(map(json.loads, done.stdout.splitlines()))


def program(name: str, target: str = "tpu_v6e") -> tuple[Row, ...]:
    return rows(PROGRAMS / f"jax__{name}_perdevice.mlir", target)


def findings(found: tuple[Row, ...]) -> dict[str, Row]:
    return {row["rule"]: row for row in found if row["type"] == "finding"}


def function(found: tuple[Row, ...]) -> Row:
    return next(row for row in found if row["type"] == "function")


@needs_programs
@pytest.mark.parametrize("target", ["tpu_v6e", "h100"])
@pytest.mark.parametrize(
    ("name", "rule"),
    [("many_small_allreduces", "combine_collectives"), ("ag_then_slice_waste", "gather_slice")],
)
def test_what_is_deliberately_bad_is_told(name: str, rule: str, target: str) -> None:
    found = findings(program(name, target))
    assert WASTE & found.keys() == {rule}
    assert found[rule]["state"] == "active"
    assert found[rule]["category"] == "xpu-shark.collective"
    assert found[rule]["speedup_low"] > 1.5


@needs_programs
@pytest.mark.parametrize(
    "name",
    [
        "dp_grad_allreduce",
        "fsdp_train_step_ag_rs",
        "llama_block_tp8",
        "ring_attention_ppermute",
        "tp_mlp_allreduce",
    ],
)
def test_what_is_good_gets_no_such_advice(name: str) -> None:
    assert not WASTE & findings(program(name)).keys()


@needs_programs
@pytest.mark.parametrize("target", ["tpu_v6e", "h100"])
def test_the_only_collective_of_a_chain_is_exposed_whatever_the_order(target: str) -> None:
    found = program("tp_mlp_allreduce", target)
    [reduced] = [row for row in found if row["type"] == "command"]
    assert function(found)["exposed_ns"] == reduced["time_ns"]
    assert function(found)["async_exposed_ns"] == reduced["time_ns"]
    assert "overlap_collectives" not in findings(found)


@needs_programs
@pytest.mark.parametrize("target", ["tpu_v6e", "h100"])
@pytest.mark.parametrize("name", ["fsdp_train_step_ag_rs", "ring_attention_ppermute"])
def test_overlap_saves_what_is_then_hidden(name: str, target: str) -> None:
    found = program(name, target)
    total = function(found)
    advice = findings(found)["overlap_collectives"]
    assert advice["saved_ns"] == pytest.approx(total["exposed_ns"] - total["async_exposed_ns"])
    commands = [row for row in found if row["type"] == "command" and row["exposed_ns"] is not None]
    for key in ("exposed_ns", "hidden_ns", "async_exposed_ns"):
        assert sum(row[key] for row in commands) == pytest.approx(total[key])
    spent = sum(row["time_ns"] * row["launches"] for row in commands)
    assert total["exposed_ns"] + total["hidden_ns"] == pytest.approx(spent)


@needs_programs
def test_keys_and_values_can_travel_behind_the_attention_of_a_step() -> None:
    assert function(program("ring_attention_ppermute"))["async_exposed_ns"] == 0


def test_a_one_way_ring_on_a_torus_is_beaten_by_a_sixth_at_least() -> None:
    folder = ROOT / "lit_tests" / "passes" / "advise"
    found = rows(
        folder / "collective_algorithm.mlir", str(folder / "Inputs" / "one_way_ring.toml"), 16
    )
    advice = findings(found)["collective_algorithm"]
    assert advice["state"] == "active"
    assert advice["speedup_low"] > 1.15
    # (p - 1) / p n bytes over one link now, over four links then.
    assert advice["speedup"] == pytest.approx(4, rel=0.05)
