"""What probes cost: time of a run, and events against probing every loop.

    python benchmarks/bench_instrument.py [--runs=11] [FILE ...]

Each program is compiled plain, with --xpu-instrument=workgroup and with =loop. Runs of the three
alternate, on one thread, so that CPU time is the time of the program whatever else the machine
does; medians are compared, and "spread" is half the quartile range of the plain runs: a
difference below it says nothing. Events are those of one call; "iterations" is what probing every
loop would report, counted by reconstructing them. Programs have static inputs only. Exit code 1
if a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from child import CPU_FLAGS, IREE_COMPILE, XPU_SHARK, run

from xpu_shark.compiler.read_plan import read_plan
from xpu_shark.passes.instrument.reconstruct import reconstruct

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "instrument" / "helpers"))

from ring_dumps import read  # noqa: E402

PROGRAMS: Final = ROOT.parent / "shared" / "programs"
DEFAULT: Final = (
    "llm/jax__gpt2_small_block_prefill_s128.mlir",
    "attention/jax__vit_s_block_197.mlir",
    "softmax_norm/jax__layernorm_vjp_b8_s128_d768.mlir",
    "moe/jax__moe_top2_of8_dense_t64.mlir",
)
LIMITS: Final = {"workgroup": 1.05, "loop": 1.40}  # of the plain program's time
SHARE: Final = 0.25  # of the events of probing every loop
MODES: Final = ("plain", "workgroup", "loop")
_INPUT: Final = re.compile(r"%input\d+: tensor<([^>]*)>")


@dataclass(frozen=True)
class Row:
    """Median milliseconds by mode, and the plain runs' spread as a share of theirs.

    `events` are those of one call with loop probes, `iterations` what they stand for.
    """

    name: str
    times_ms: dict[str, float]
    spread: float
    events: int
    iterations: int

    def faults(self) -> list[str]:
        """Limits that were missed."""
        plain = self.times_ms["plain"]
        missed = [mode for mode, most in LIMITS.items() if self.times_ms[mode] > most * plain]
        return missed + ["events"] * (self.events > SHARE * self.iterations)

    def line(self) -> str:
        plain, *probed = (self.times_ms[mode] for mode in MODES)
        parts = "".join(f"{each:>11.2f}{100 * (each / plain - 1):>+7.1f} %" for each in probed)
        counts = f"{self.events:>10}{self.iterations:>12}{self.events / self.iterations:>8.3f}"
        first = f"{self.name:<40}{plain:>9.2f}{100 * self.spread:>7.1f} %"
        return f"{first}{parts}{counts}  {' '.join(self.faults()) or 'ok'}"


def main() -> int:
    args = _arguments()
    head = f"{'program':<40}{'plain ms':>9}{'spread':>9}{'workgroup ms':>20}{'loop ms':>20}"
    print(f"{head}{'events':>10}{'iterations':>12}{'share':>8}")
    bad = False
    for path in args.files:
        row = measure(Path(path), args.runs)
        print(row.line(), flush=True)
        bad |= bool(row.faults())
    return 1 if bad else 0


def measure(path: Path, runs: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        modules = {mode: _compile(path, mode, folder) for mode in MODES}
        given = _inputs(modules["plain"])
        times: dict[str, list[float]] = {mode: [] for mode in MODES}
        for number in range(runs):
            turn = number % len(MODES)
            for mode in MODES[turn:] + MODES[:turn]:  # none is always the first
                times[mode].append(_time_ms(modules[mode], given))
        events, iterations = _events(modules["loop"], given, folder)
    medians = {mode: median(each) for mode, each in times.items()}
    low, _, high = quantiles(times["plain"], n=4)
    spread = (high - low) / 2 / medians["plain"]
    return Row(path.stem, medians, spread, events, iterations)


def _compile(path: Path, mode: str, folder: str) -> str:
    module = str(Path(folder, f"{mode}.vmfb"))
    ours = [XPU_SHARK, "compile", f"--xpu-instrument={mode}"]
    command = [IREE_COMPILE] if mode == "plain" else ours
    child = run([*command, str(path), *CPU_FLAGS, "-o", module])
    if child.code:
        sys.exit(f"{path}: does not compile: {child.stderr[-300:]}")
    return module


def _inputs(module: str) -> list[str]:
    """One --input for each argument of the first function, all numbers the same."""
    from iree.runtime import VmInstance, VmModule

    loaded = VmModule.mmap(VmInstance(), module)
    function = loaded.lookup_function(loaded.function_names[0])
    declared = function.reflection.get("iree.abi.declaration", "").partition(") -> ")[0]
    shapes = _INPUT.findall(declared)
    name = loaded.function_names[0]
    values = ("1" if re.search(r"x?[su]?i\d+$", shape) else "0.25" for shape in shapes)
    pairs = zip(shapes, values, strict=True)
    return [f"--function={name}", *(f"--input={shape}={value}" for shape, value in pairs)]


def _time_ms(module: str, given: list[str]) -> float:
    """CPU time of one call; everything is done by the calling thread."""
    tool = str(Path(sys.executable).parent / "iree-benchmark-module")
    flags = ["--device=local-sync", "--benchmark_min_time=0.3s", "--benchmark_format=json"]
    child = run([tool, f"--module={module}", *flags, *given])
    if child.code:
        sys.exit(f"{module}: does not run: {child.stderr[-300:]}")
    text = child.stdout.decode()
    (result,) = json.loads(text[text.index("{") :])["benchmarks"]
    per_ms = {"ns": 1e6, "us": 1e3, "ms": 1.0}[result["time_unit"]]
    return float(result["cpu_time"]) / per_ms


def _events(module: str, given: list[str], folder: str) -> tuple[int, int]:
    """Values reported in one call, and the iterations that they stand for."""
    dump = Path(folder, "dump.bin")
    tool = str(Path(sys.executable).parent / "iree-run-module")
    flags = ["--device=local-sync", f"--instrument_file={dump}"]
    child = run([tool, f"--module={module}", *flags, *given])
    if child.code:
        sys.exit(f"{module}: does not run: {child.stderr[-300:]}")
    plan, runs = read_plan(module), read(dump).runs
    assert plan is not None
    return sum(len(each.values) for each in runs), sum(1 for _ in reconstruct(plan, runs))


def _arguments() -> argparse.Namespace:
    known = [PROGRAMS / name for name in DEFAULT if (PROGRAMS / name).exists()]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=11)
    example = ROOT / "examples" / "transformer_block.mlir"
    parser.add_argument("files", nargs="*", default=known or [example])
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
