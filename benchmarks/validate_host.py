"""Compares simulated with measured times of dispatches on the machine this runs on.

    xpu-shark calibrate -o host.toml
    python benchmarks/validate_host.py host.toml [--programs=FOLDER] [--work=FOLDER] [FILE ...]

Every program of the folder that runs is compiled for this CPU, recorded with `xpu-shark record`
and simulated on the target file; each distinct dispatch that takes over 20 us is a row. The
folder's MANIFEST.tsv names functions and inputs. Times mean something on a quiet machine only:
`--steps=compile`, then `record`, then `compare`, with one --work, keeps the three apart.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from child import CPU_FLAGS, IREE_COMPILE, XPU_SHARK, run
from validate_stats import HEADER, Pair, figures

PROGRAMS = Path(__file__).resolve().parents[2] / "shared" / "programs"
STEPS = ("compile", "record", "compare")
LEAST_US = 20.0
ATTEMPTS = 4
KIND = re.compile(r".*?dispatch_\d+_([a-z_]*?)_*(?:\d.*|D.*)?$")


@dataclass(frozen=True)
class Program:
    """A file that runs: `name` is unique, `inputs` are flags of the runner."""

    path: Path
    name: str
    function: str
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """One distinct dispatch of one program, in microseconds."""

    program: str
    dispatch: str
    simulated: float
    measured: float
    bound: float

    @property
    def kind(self) -> str:
        found = KIND.fullmatch(self.dispatch)
        return found[1] if found and found[1] else self.dispatch


def main() -> int:
    args = _arguments()
    programs = list(_programs(args.programs, args.files))
    if not programs:
        print(f"skipped: no MANIFEST.tsv with programs in {args.programs}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        work = args.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        if "compile" in args.steps:
            _each(programs, lambda program: _compile(program, work))
        if "record" in args.steps:
            _each(programs, lambda program: _record(program, work, args.iterations))
        if "compare" not in args.steps:
            return 0
        return _compare(programs, work, args)


def _compare(programs: list[Program], work: Path, args: argparse.Namespace) -> int:
    rows = [row for program in programs for row in _rows(program, work, args.target)]
    if args.verbose:
        for row in sorted(rows, key=lambda row: row.simulated / row.measured):
            ratio = row.simulated / row.measured
            times = f"{row.measured:>11.1f}{row.simulated:>11.1f}{ratio:>7.2f}"
            print(f"{row.program:<46}{row.dispatch[:60]:<62}{times}")
    kinds: dict[str, list[Pair]] = {}
    for row in rows:
        pair = (f"{row.program} {row.dispatch}", row.simulated, row.measured)
        kinds.setdefault(row.kind, []).append(pair)
    print(HEADER)
    for kind, pairs in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{kind:<32}{figures(pairs)}")
    print(f"{'all':<32}{figures([pair for pairs in kinds.values() for pair in pairs])}")
    bad = [row for row in rows if row.bound > row.measured]
    for row in bad:
        print(
            f"{row.program} {row.dispatch}: bound {row.bound:.2f}, measured {row.measured:.2f} us"
        )
    print(f"{len(rows)} dispatches, {len(bad)} bounds above the measured time")
    return 1 if bad else 0


def _each(programs: list[Program], step: Callable[[Program], str]) -> None:
    """What fails is said, and the others go on."""
    for program in programs:
        if problem := step(program):
            print(f"{program.name}: {problem}", flush=True)


def _compile(program: Program, work: Path) -> str:
    module = work / f"{program.name}.vmfb"
    child = run([IREE_COMPILE, str(program.path), *CPU_FLAGS, "-o", str(module)])
    return child.stderr[-200:] if child.code else ""


def _record(program: Program, work: Path, iterations: int) -> str:
    """Again while other work disturbs it; the last time calls without disturbance have to do."""
    module, trace = (work / f"{program.name}.{end}" for end in ("vmfb", "xputrace"))
    if not module.exists():
        return "not compiled"
    command = [
        *(XPU_SHARK, "record", str(module), f"--function={program.function}", *program.inputs),
        *("--warmup=3", f"--iterations={iterations}", "-o", str(trace)),
    ]
    for _ in range(ATTEMPTS):
        child = run(command)
        if not child.code:
            return ""
    trace.unlink(missing_ok=True)
    return child.stderr[-200:]


def _rows(program: Program, work: Path, target: str) -> Iterator[Row]:
    """Distinct dispatches that were measured, undisturbed, to take over `LEAST_US`."""
    trace = work / f"{program.name}.xputrace"
    if not trace.exists():
        return
    child = run(
        [
            *(XPU_SHARK, "simulate", str(program.path), f"--xpu-trace={trace}", *CPU_FLAGS),
            *(f"--xpu-target={target}", "--xpu-effort=low", "--format=jsonl"),
        ]
    )
    if child.code:
        print(f"{program.name}: simulate ends with {child.code}: {child.stderr[-200:]}")
        return
    records = [json.loads(line) for line in child.stdout.decode().splitlines()]
    bounds = {
        record["name"]: record["bound_ns"] for record in records if record["type"] == "dispatch"
    }
    seen: dict[tuple[str, float], list[float]] = {}
    for record in records:
        if record["type"] == "measured" and record["time_ns"]:
            key = (record["name"], record["time_ns"])
            seen.setdefault(key, []).append(record["measured_ns"])
    for (name, simulated), measured in seen.items():
        time = sorted(measured)[len(measured) // 2] / 1e3
        if time > LEAST_US:
            yield Row(program.name, name, simulated / 1e3, time, (bounds.get(name) or 0) / 1e3)


def _programs(folder: Path, files: list[str]) -> Iterator[Program]:
    manifest = folder / "MANIFEST.tsv"
    if not manifest.exists():
        return
    with manifest.open() as table:
        for row in csv.DictReader(table, delimiter="\t"):
            if row["run"] == "ok" and (not files or any(f in row["file"] for f in files)):
                words = row["run_inputs"].split(" --input=")
                texts = [word.removeprefix("--input=").strip() for word in words]
                inputs = tuple(f"--input={text}" for text in texts if text)
                name = row["file"].removesuffix(".mlir").replace("/", "_")
                yield Program(folder / row["file"], name, row["run_function"], inputs)


def _steps(text: str) -> list[str]:
    steps = text.split(",")
    if unknown := [step for step in steps if step not in STEPS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]}: expected some of {', '.join(STEPS)}")
    return steps


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", help="file that xpu-shark calibrate wrote")
    parser.add_argument("files", nargs="*", help="parts of names of the programs to take")
    parser.add_argument("--programs", type=Path, default=PROGRAMS)
    parser.add_argument("--work", type=Path, help="keep modules and traces here")
    parser.add_argument("--steps", type=_steps, default=list(STEPS), help=", ".join(STEPS))
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--verbose", action="store_true", help="a line a dispatch")
    return parser.parse_intermixed_args()


if __name__ == "__main__":
    sys.exit(main())
