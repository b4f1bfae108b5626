"""Compiles every program of the given folders with and without the flag, and compares.

    python benchmarks/bench_sweep.py [--target=tpu_v6e] [FOLDER ...]

For each file: the same bytes, exit code and, where iree-compile refuses, the same messages; no
traceback; what share of the dispatches is modelled, and none without a time. Ends with a line of
totals and exit code 1 if any file breaks a promise.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from child import CPU_FLAGS, IREE_COMPILE, XPU_SHARK, Child, run

SHARED = Path(__file__).resolve().parents[2] / "shared"


@dataclass
class Row:
    """What was found for one file."""

    name: str
    states: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    peak_mb: float = 0.0
    faults: list[str] = field(default_factory=list)

    def line(self) -> str:
        counts = "".join(
            f"{self.states.get(s, 0):>10}" for s in ("all", "modelled", "partial", "unmodelled")
        )
        verdict = "; ".join(self.faults) or "ok"
        return f"{self.name:<52}{counts}{self.seconds:>9.2f}{self.peak_mb:>9.0f}  {verdict}"


def main() -> int:
    args = _arguments()
    files = sorted(path for folder in args.folders for path in Path(folder).rglob("*.mlir"))
    print(
        f"{'file':<52}{'dispatch':>10}{'modelled':>10}{'partial':>10}{'unmodel.':>10}{'seconds':>9}{'MB':>9}"
    )
    rows = []
    for path in files:
        rows.append(check(path, args.target))
        print(rows[-1].line(), flush=True)
    return _totals(rows)


def check(path: Path, target: str) -> Row:
    row = Row("/".join(path.parts[-2:]))
    with tempfile.TemporaryDirectory() as folder:
        plain, ours = Path(folder, "plain.vmfb"), Path(folder, "ours.vmfb")
        stock = run([IREE_COMPILE, str(path), *CPU_FLAGS, "-o", str(plain)])
        flagged = run(
            [XPU_SHARK, "compile", str(path), *CPU_FLAGS, f"--xpu-target={target}", "-o", str(ours)]
        )
        row.seconds, row.peak_mb = flagged.wall_s, flagged.peak_mb
        _compare(row, stock, flagged, plain, ours)
    if stock.code == 0:
        _simulate(row, path, target)
    return row


def _compare(row: Row, stock: Child, flagged: Child, plain: Path, ours: Path) -> None:
    if flagged.code != stock.code % 256:  # a signal, as a shell and IREE's launcher say it
        row.faults.append(f"exit code {flagged.code}, iree-compile's {stock.code}")
    if "Traceback" in flagged.stderr or "xpu-shark: " in flagged.stderr:
        row.faults.append("a fault of ours in the log")
    if plain.exists() != ours.exists():
        row.faults.append("only one of the two wrote a module")
    elif plain.exists() and plain.read_bytes() != ours.read_bytes():
        row.faults.append("module bytes differ")
    if stock.code and not _errors(stock) <= _errors(flagged):
        row.faults.append("messages differ")
    elif stock.code:
        row.states["refused"] = 1


def _errors(child: Child) -> set[str]:
    return {line for line in child.stderr.splitlines() if "error:" in line}


def _simulate(row: Row, path: Path, target: str) -> None:
    child = run(
        [XPU_SHARK, "simulate", str(path), *CPU_FLAGS, f"--xpu-target={target}", "--format=jsonl"]
    )
    if child.code:
        row.faults.append(f"simulate ends with {child.code}: {child.stderr[-200:]}")
        return
    records = [json.loads(line) for line in child.stdout.decode().splitlines()]
    listed = sum(r["dispatches"] for r in records if r["type"] == "function")
    for record in records:
        if record["type"] == "dispatch":
            _count(row, record)
    if listed != row.states.get("all", 0):
        row.faults.append(f"{listed} dispatches in the program, {row.states.get('all', 0)} listed")


def _count(row: Row, record: dict[str, Any]) -> None:
    for state in ("all", record["state"]):
        row.states[state] = row.states.get(state, 0) + record["sites"]
    if not record["time_ns"] and not record["reason"]:
        row.faults.append(f"{record['name']} has no time and no reason")


def _totals(rows: list[Row]) -> int:
    total = {s: sum(row.states.get(s, 0) for row in rows) for s in ("all", "modelled", "refused")}
    share = 100 * total["modelled"] / max(total["all"], 1)
    bad = [row for row in rows if row.faults]
    print(
        f"{len(rows)} files, {total['refused']} refused by iree-compile; "
        f"{total['all']} dispatches, {share:.1f} % modelled, {len(bad)} files with faults"
    )
    return 1 if bad or share < 99 else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="tpu_v6e")
    parser.add_argument("folders", nargs="*", default=[SHARED / "programs", SHARED / "repro"])
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
