"""What recording costs, and whether what was recorded comes back.

    python benchmarks/bench_record.py [--runs=7] [--seconds=0.5] [--device=local-task] [FILE ...]

For each program, plain runs of IREE's benchmark runner and runs with profile and replay capture
take turns, each of as many calls as fill the seconds. `overhead` is how much longer the median call
takes with them by the clock of the runner, `cpu` how much more CPU time of its threads, which a
busy machine disturbs less, and `us/launch` that time by launch: what recording costs, best told
where launches are short. `spread` is half the quartile range of the plain runs' CPU time: an
overhead below it says nothing. Then the program is recorded and replayed: `recorded` launches are
in the trace, `shown` ones on the simulated timeline, `timed` of them with a simulated time, of
`B/launch` bytes each in the file. With --runs=0 only that is done. Exit code 1 if a launch is not
shown.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles

from child import CPU_FLAGS, IREE_COMPILE, XPU_SHARK

from xpu_shark.compiler.trace import capture, facts, tool, trace_file
from xpu_shark.compiler.trace.problem import TraceError
from xpu_shark.simulator import target
from xpu_shark.simulator.evaluate import Settings
from xpu_shark.simulator.replay import replay, timeline

PROGRAMS = Path(__file__).resolve().parents[2] / "shared" / "programs"
INPUTS = Path(__file__).resolve().parents[1] / "tests" / "inputs" / "trace"
OWN = (
    ("growing_context.mlir", "main", ("640x64xf32=1", "64x32xf32=1")),
    ("dynamic_layer.mlir", "layer", ("33x64xf32=1", "64x128xf32=1")),
    ("halving.mlir", "halve", ("16xf32=100",)),
)


@dataclass(frozen=True)
class Program:
    path: Path
    function: str
    inputs: tuple[str, ...]


def main() -> int:
    args = _arguments()
    columns = ("plain ms", "ours ms", "overhead", "cpu", "us/launch", "spread")
    columns += ("recorded", "shown", "timed", "B/launch")
    print(f"{'file':<48}" + "".join(f"{name:>10}" for name in columns))
    wrong = 0
    for each in _programs(args.files):
        with tempfile.TemporaryDirectory() as folder:
            try:
                wrong += _measure(each, args, Path(folder))
            except (subprocess.CalledProcessError, TraceError) as problem:
                wrong += 1
                print(f"{each.path.name:<48} failed: {str(problem)[-200:]}")
    return 1 if wrong else 0


def _measure(each: Program, args: argparse.Namespace, folder: Path) -> int:
    """Print the line of one program; 1 where a recorded launch is not on the timeline."""
    module = str(folder / "out.vmfb")
    subprocess.run(
        [IREE_COMPILE, str(each.path), *CPU_FLAGS, "-o", module], check=True, capture_output=True
    )
    run = capture.Run(module, each.function, each.inputs, (args.device,), 1, 2)
    if args.runs:
        once_ms, _ = _times_ms(run, [])
        run = replace(run, iterations=max(2, round(args.seconds * 1000 / once_ms)))
    plain, ours = [], []
    for _ in range(args.runs):
        plain.append(_times_ms(run, []))
        files = [f"--device_profiling_output={folder}/p", f"--device_replay_output={folder}/r"]
        ours.append(_times_ms(run, [f"--device_profiling_mode={capture.LOCAL}", *files]))
    recorded, shown, timed, size = _back(each, replace(run, iterations=2), folder)
    times = "".join(_columns(plain, ours, recorded / 2))
    numbers = f"{recorded:>10}{shown:>10}{timed:>10}{size / max(recorded, 1):>10.1f}"
    print(f"{each.path.name:<48}{times}{numbers}", flush=True)
    return int(recorded != shown or not recorded)


Times = tuple[float, float]


def _columns(plain: list[Times], ours: list[Times], launches: float) -> Iterator[str]:
    """Median wall times, and what ours takes more for a call of `launches`."""
    if not plain:
        yield " " * 60
        return
    sides = [[median(times[n] for times in side) for side in (plain, ours)] for n in (0, 1)]
    yield "".join(f"{time:>10.3f}" for time in sides[0])
    yield "".join(f"{b / a - 1:>10.1%}" for a, b in sides)
    yield f"{(sides[1][1] - sides[1][0]) * 1000 / launches:>10.1f}"
    low, middle, high = quantiles([cpu for _, cpu in plain], n=4) if len(plain) > 1 else (0, 1, 0)
    yield f"{(high - low) / 2 / middle:>10.1%}"


def _times_ms(run: capture.Run, flags: list[str]) -> Times:
    """Milliseconds a call: the runner's clock, and CPU time of its threads."""
    command = [tool.binary("iree-benchmark-module"), *run.flags(), *flags]
    command += [f"--benchmark_min_time={run.iterations}x", "--benchmark_format=json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    row = json.loads(done.stdout)["benchmarks"][0]
    unit = {"ns": 1e-6, "us": 1e-3, "ms": 1.0}[row["time_unit"]]
    return float(row["real_time"]) * unit, float(row["cpu_time"]) * unit


def _back(each: Program, run: capture.Run, folder: Path) -> tuple[int, int, int, int]:
    """Launches recorded, shown and timed, and bytes of the trace without its program."""
    path = str(folder / "t.xputrace")
    command = [
        XPU_SHARK,
        "record",
        run.module,
        *run.flags()[1:],
        f"--iterations={run.iterations}",
        f"--module={each.path}",
        *CPU_FLAGS,
    ]
    done = subprocess.run(
        [*command, "--contended=keep", "-o", path], check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise TraceError(done.stderr.strip())
    whole = trace_file.read(path)
    trace_file.write(path, replace(whole, program=b""))
    size = trace_file.size(path)
    recording = facts.recording(whole)
    settings = Settings(target.load("h100"))
    found = replay(facts.workload(path, whole), recording, settings)
    shown = list(timeline(recording, found))
    return len(whole.launches), len(shown), sum(each.time_ps > 0 for each in shown), size


def _programs(files: list[str]) -> Iterator[Program]:
    """The programs that run, or the tests' own where those are not at hand."""
    manifest = PROGRAMS / "MANIFEST.tsv"
    if not manifest.exists():
        yield from (Program(INPUTS / name, *rest) for name, *rest in OWN)
        return
    with manifest.open() as table:
        for row in csv.DictReader(table, delimiter="\t"):
            if row["run"] == "ok" and (not files or any(f in row["file"] for f in files)):
                words = row["run_inputs"].split(" --input=")
                inputs = tuple(word.removeprefix("--input=").strip() for word in words)
                yield Program(PROGRAMS / row["file"], row["run_function"], inputs)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="0: only record and replay")
    parser.add_argument("--seconds", type=float, default=0.5, help="of a run, about")
    parser.add_argument("--device", default="local-task")
    parser.add_argument("files", nargs="*", help="parts of names of the programs to take")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
