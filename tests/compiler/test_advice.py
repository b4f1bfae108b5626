"""Advice through the command line: fusion proved by IREE's own other way, and its evidence."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from xpu_shark.compiler.simulate_main import default_device

LAYER_NORM = str(Path(__file__).parents[1] / "inputs" / "layer_norm.mlir")
TARGET = "--xpu-target=mi300x"
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def findings(run: Run, *flags: str) -> list[dict[str, object]]:
    done = run("simulate", LAYER_NORM, TARGET, "--format=jsonl", *flags)
    assert done.returncode == 0, done.stderr
    rows = map(json.loads, done.stdout.splitlines())
    return [row for row in rows if row["type"] == "finding"]


def test_fusion_that_a_flag_makes_is_advised_where_it_is_not_made_already(run: Run) -> None:
    found = [f for f in findings(run, "--iree-opt-level=O1", "--xpu-effort=high")]
    fused = [f for f in found if f["rule"] == "fusion"]
    assert len(fused) == 1
    assert str(fused[0]["suggestion"]).startswith("--iree-opt-level=O2 makes 1")
    # Two launches become one and the rows are read once instead of twice: near 2x.
    assert 1.5 < float(str(fused[0]["speedup"])) < 2.5
    assert re.search(
        r"layer_norm_dispatch_0\w* -> layer_norm_dispatch_1", str(fused[0]["condition"])
    )


def test_fusion_that_is_made_already_is_not_advised(run: Run) -> None:
    found = findings(run, "--iree-opt-level=O2", "--xpu-effort=high")
    assert [f for f in found if f["rule"] == "fusion"] == []


def test_fusion_costs_another_compile_so_only_high_effort_looks_for_it(run: Run) -> None:
    assert [f for f in findings(run) if f["rule"] == "fusion"] == []


def test_evidence_of_a_finding_is_both_simulations(run: Run) -> None:
    flags = ("--iree-opt-level=O1", "--xpu-effort=high")
    [identity] = [str(f["id"]) for f in findings(run, *flags) if f["rule"] == "fusion"]
    done = run("explain", identity, LAYER_NORM, TARGET, *flags)
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert text.count("as it is, launch") == 2
    assert text.count("as it could be") == 1
    assert "load.hbm" in text


def test_a_rule_is_explained_and_a_wrong_name_is_one_line(run: Run) -> None:
    assert run("explain", "tiling").stdout.decode().startswith("tiling: another tile size")
    assert run("explain", "fusion").stdout.decode().startswith("fusion: ")
    done = run("explain", "tilling")
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "xpu-shark: error: unknown rule 'tilling', did you mean 'tiling'?\n"
    )


def test_an_unknown_finding_is_one_line(run: Run) -> None:
    done = run("explain", "tiling:nowhere", LAYER_NORM, TARGET)
    assert done.returncode == 2
    text = done.stderr.decode()
    assert "no finding tiling:nowhere in this simulation" in text
    assert all(flag in text for flag in ("--xpu-target", "--xpu-effort", "--xpu-per"))
    assert text.count("\n") == 1


def test_a_finding_nearly_named_is_offered(run: Run) -> None:
    rows = run("simulate", LAYER_NORM, TARGET, "--format=jsonl").stdout.splitlines()
    identity = next(row["id"] for row in map(json.loads, rows) if row["type"] == "finding")
    done = run("explain", identity[:-1], LAYER_NORM, TARGET)
    assert f"did you mean {identity!r}?" in done.stderr.decode()


def test_the_build_log_names_the_evidence(run: Run, tmp_path: Path) -> None:
    flags = (TARGET, *default_device([]))
    done = run("compile", LAYER_NORM, "-o", str(tmp_path / "layer_norm.vmfb"), *flags)
    identity = done.stderr.decode().split("(explain ", 1)[1].split(")", 1)[0]
    done = run("explain", identity, LAYER_NORM, *flags)
    assert done.stdout.decode().startswith(f"{identity} at ")
