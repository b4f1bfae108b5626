"""Compares simulated times with measured ones, through the path a user takes.

    python benchmarks/validate.py [--only=tpu_v6e/gemm] [--verbose] [--kfold=5] [--tables=FOLDER]
                                  [--tiling=best]

For every row of the tables: MLIR in, `xpu-shark simulate --format=jsonl --xpu-tiling=default` out,
many functions to a module. Prints the error of the function's time by device and operator, beside
that of the roofline (the function's bound). With --tiling=best also how much faster the best tiling
is than what was measured, and than the default one. Ends with 1 if a bound is above a measured
time, or the best tiling slower than the default one.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from child import XPU_SHARK, run
from validate_best import Times, lines, slower
from validate_folds import folds
from validate_mlir import module
from validate_rows import Row, read
from validate_stats import HEADER, figures

TABLES = Path(__file__).resolve().parents[2] / "shared" / "validation"
ROWS_PER_MODULE = 120
GROUP_SIZE = {"all_reduce": 4}  # devices of a collective


@dataclass(frozen=True)
class Result:
    """A row with what the simulator says of it; one record a dispatch or command."""

    row: Row
    simulated_us: float
    bound_us: float
    parts: tuple[dict[str, Any], ...]


def main() -> int:
    args = _arguments()
    rows = [row for row in read(args.tables) if args.only in f"{row.device}/{row.operator}"]
    if not rows:
        print(f"skipped: no rows of {args.only or 'any table'} in {args.tables}")
        return 0
    results = [result for group in groups(rows) for result in simulate(group, args.tiling)]
    wrong = 0
    if args.verbose:
        _print_rows(results)
    _print_table(results)
    if args.tiling == "best":
        wrong = _compare(rows, results)
    for line in folds(groups(rows), args.kfold) if args.kfold else ():
        print(line, flush=True)
    return max(wrong, _violations(results))


def groups(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows that share a module: those of one device, collectives apart."""
    found: dict[tuple[str, bool], list[Row]] = {}
    for row in rows:
        found.setdefault((row.device, row.operator in GROUP_SIZE), []).append(row)
    parts = []
    for members in found.values():
        starts = range(0, len(members), ROWS_PER_MODULE)
        parts += [members[start : start + ROWS_PER_MODULE] for start in starts]
    return parts


def simulate(rows: Sequence[Row], tiling: str) -> Iterator[Result]:
    """Rows of one module, in order. Raises `SystemExit` where the product refuses it."""
    records = _records(rows, tiling)
    times = {record["name"]: record for record in records if record["type"] == "function"}
    for number, row in enumerate(rows):
        name = f"row{number}"
        parts = tuple(r for r in records if r.get("function") == name and "time_ns" in r)
        # Collectives were timed on the device, without the submission that a function's time has.
        whole = parts if row.operator in GROUP_SIZE else (times[name],)
        time, bound = (sum(part[key] for part in whole) for key in ("time_ns", "bound_ns"))
        yield Result(row, time / 1e3, bound / 1e3, parts)


def _records(rows: Sequence[Row], tiling: str) -> list[dict[str, Any]]:
    device = rows[0].device
    flags = [f"--xpu-target={device}", f"--xpu-tiling={tiling}", "--format=jsonl"]
    if size := GROUP_SIZE.get(rows[0].operator):
        flags.append(f"--xpu-devices={size}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{device}.mlir")
        path.write_text(module(rows))
        child = run([XPU_SHARK, "simulate", str(path), *flags])
    if child.code:
        raise SystemExit(f"simulate ends with {child.code} for {device}: {child.stderr[-300:]}")
    return [json.loads(line) for line in child.stdout.decode().splitlines()]


def _print_rows(results: Sequence[Result]) -> None:
    for result in results:
        row, ratio = result.row, result.simulated_us / result.row.measured_us
        parts = "; ".join(
            f"{part.get('limit', part.get('algorithm'))} {part['time_ns'] / 1e3:.2f} "
            f"{tuple(part.get('tiling', {}).values())}"
            for part in result.parts
        )
        print(
            f"{row.device:<8}{row.name:<38}{row.measured_us:>12.2f}{result.simulated_us:>12.2f}"
            f"{ratio:>6.2f}  {parts}"
        )


def _print_table(results: Sequence[Result]) -> None:
    print(HEADER)
    kinds: dict[str, list[Result]] = {}
    for result in results:
        kinds.setdefault(f"{result.row.device}/{result.row.operator}", []).append(result)
    for name, members in kinds.items():
        ours = [(r.row.name, r.simulated_us, r.row.measured_us) for r in members]
        roofline = [(r.row.name, r.bound_us, r.row.measured_us) for r in members]
        print(f"{name:<22}{'simulated':<10}{figures(ours)}")
        print(f"{name:<22}{'roofline':<10}{figures(roofline)}")


def _compare(rows: Sequence[Row], best: Sequence[Result]) -> int:
    """Prints what the best tilings gain. Returns 1 if one of them is slower than the default."""
    default = [result for group in groups(rows) for result in simulate(group, "default")]
    times = [
        Times(
            f"{a.row.device}/{a.row.operator}",
            a.row.name,
            a.row.measured_us,
            b.simulated_us,
            a.simulated_us,
        )
        for a, b in zip(best, default, strict=True)
    ]
    for line in lines(times):
        print(line)
    bad = slower(times)
    for each in bad:
        print(f"{each.operator} {each.name}: best {each.best:.2f}, default {each.default:.2f} us")
    print(f"{len(bad)} of {len(times)} rows with a best tiling slower than the default one")
    return 1 if bad else 0


def _violations(results: Sequence[Result]) -> int:
    """Rows that were measured to take less than their bound: there must be none."""
    bad = [result for result in results if result.bound_us > result.row.measured_us]
    for result in bad:
        row = result.row
        bound = f"bound {result.bound_us:.2f}, measured {row.measured_us:.2f} us"
        print(f"{row.device} {row.name}: {bound}")
    print(f"{len(results)} rows, {len(bad)} bounds above the measured time")
    return 1 if bad else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, default=TABLES)
    parser.add_argument("--only", default="", help="part of DEVICE/OPERATOR")
    parser.add_argument("--tiling", default="default", choices=("ir", "default", "best"))
    parser.add_argument("--verbose", action="store_true", help="a line a row")
    parser.add_argument("--kfold", type=int, default=0, help="number of folds, 0: none")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
