"""Ranks tilings of matrix products and convolutions on this machine: measured and simulated.

    python benchmarks/validate_host_tilings.py host.toml [--work=FOLDER] [--steps=...] [NAME ...]

Sixty ways to tile each of six operations for llvm-cpu are pinned in the IR. For each operation:
Kendall's tau between both orders, and what the tiling that is simulated to be best costs beyond
the one that was measured to be. Steps as in validate_host.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from child import CPU_FLAGS, IREE_COMPILE, XPU_SHARK, run
from validate_host import STEPS, _steps

from xpu_shark.compiler.calibrate.kernels import tiles
from xpu_shark.compiler.trace import capture
from xpu_shark.compiler.trace.problem import TraceError

COUNT = 60
SEED = 4
CALLS, WARMUP = 21, 2
CONFIGURED = "executable-configurations"


@dataclass(frozen=True)
class Operation:
    """An m x n x k product, or with `taps` an NHWC convolution: m is a side of the outputs."""

    name: str
    m: int
    n: int
    k: int
    taps: int = 0


OPERATIONS = (
    Operation("matmul_512", 512, 512, 512),
    Operation("matmul_128x3072x768", 128, 3072, 768),
    Operation("matmul_256x1000x520", 256, 1000, 520),
    Operation("conv3_28_c64", 28, 64, 64, 3),
    Operation("conv3_56_c32", 56, 32, 32, 3),
    Operation("conv5_28_c32", 28, 32, 32, 5),
)


def main() -> int:
    args = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        work = args.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        for operation in OPERATIONS:
            if args.names and operation.name not in args.names:
                continue
            if "compile" in args.steps:
                _compile(operation, work)
            if "record" in args.steps:
                _record(operation, work)
            if "compare" in args.steps:
                print(_compare(operation, work, args.target), flush=True)
    return 0


def kendall(pairs: list[tuple[float, float]]) -> float:
    """Kendall's tau-a: pairs in the same order less pairs in the other, over all."""
    signs = [
        (a[0] > b[0]) - (a[0] < b[0]) if a[1] > b[1] else (a[0] < b[0]) - (a[0] > b[0])
        for a, b in itertools.combinations(pairs, 2)
        if a[1] != b[1]
    ]
    return sum(signs) / (len(pairs) * (len(pairs) - 1) / 2)


def _choices(operation: Operation) -> list[str]:
    """`COUNT` pins, the same in every run."""
    rows = (1, 2, 4, 8)
    found = []
    if operation.taps:
        outs = [size for size in (4, 7, 14, 28, 56) if size <= operation.m]
        for height, width, out in itertools.product((1, 2, 4, 7), outs, (16, 32, 64)):
            for row, lane, step in itertools.product(rows, (4, 8, 16), (1, 4, 8)):
                if width % row == 0 and out % lane == 0 and out <= operation.n:
                    found.append(
                        tiles(
                            (0, height, width, out, 0, 0, 0),
                            (1, 1, row, lane, 0, 0, 0),
                            (0, 0, 0, 0, 1, 1, step),
                            pipeline="ConvTileAndDecomposeExpert",
                        )
                    )
    else:
        for height, width in itertools.product((16, 32, 64, 128), (16, 32, 64, 128, 256)):
            for row, lane, step in itertools.product(rows, (8, 16, 32), (1, 4, 8, 16)):
                found.append(tiles((height, width, 0), (row, lane, 0), (0, 0, step), cache=True))
    return random.Random(SEED).sample(found, COUNT)


def _function(operation: Operation, number: int, config: str) -> str:
    """Each starts its sums from another value: IREE makes one executable of equal functions."""
    m, n, k, taps = operation.m, operation.n, operation.k, operation.taps
    side = m + taps - 1
    if taps:
        types, out = (f"1x{side}x{side}x{k}", f"{taps}x{taps}x{k}x{n}"), f"1x{m}x{m}x{n}"
        dims, reads = "n, h, w, c, y, x, k", ("n, h + y, w + x, k", "y, x, k, c")
        result, kinds = "n, h, w, c", ["parallel"] * 4 + ["reduction"] * 3
    else:
        types, out = (f"{m}x{k}", f"{k}x{n}"), f"{m}x{n}"
        dims, reads, result = "m, n, k", ("m, k", "k, n"), "m, n"
        kinds = ["parallel"] * 2 + ["reduction"]
    a, b, c = (f"tensor<{shape}xf32>" for shape in (*types, out))
    maps = ", ".join(f"affine_map<({dims}) -> ({each})>" for each in (*reads, result))
    return f"""func.func @t{number}(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant {number}.0 : f32
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %c = linalg.generic {{indexing_maps = [{maps}], iterator_types = {json.dumps(kinds)}}}
      ins(%a, %b : {a}, {b}) outs(%init : {c}) attrs = {{{config}}} {{
  ^bb0(%x: f32, %y: f32, %old: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %old, %product : f32
    linalg.yield %sum : f32
  }} -> {c}
  return %c : {c}
}}"""


def _inputs(operation: Operation) -> tuple[str, str]:
    m, n, k, taps = operation.m, operation.n, operation.k, operation.taps
    if taps:
        side = m + taps - 1
        return f"1x{side}x{side}x{k}xf32=1", f"{taps}x{taps}x{k}x{n}xf32=1"
    return f"{m}x{k}xf32=1", f"{k}x{n}xf32=1"


def _compile(operation: Operation, work: Path) -> None:
    """One module of all tilings; those that IREE refuses are left out and said."""
    left = list(enumerate(_choices(operation)))
    while left:
        path = work / f"{operation.name}.mlir"
        path.write_text("\n".join(_function(operation, *choice) for choice in left))
        if operation.taps:
            _pin(path, dict(left))
        module = str(path.with_suffix(".vmfb"))
        child = run([IREE_COMPILE, str(path), *CPU_FLAGS, *_phase(operation), "-o", module])
        if not child.code:
            return
        refused = {int(number) for number in re.findall(r"\bt(\d+)_dispatch", child.stderr)}
        print(f"{operation.name}: IREE refuses {sorted(refused) or child.stderr[:300]}", flush=True)
        left = [choice for choice in left if choice[0] not in refused] if refused else []


def _phase(operation: Operation) -> list[str]:
    return [f"--compile-from={CONFIGURED}"] if operation.taps else []


def _pin(path: Path, configs: dict[int, str]) -> None:
    """IREE loses the pins of convolutions on the way, so they are put in where it has chosen its
    own: the sizes of the convolution, and those of the parallel dims in ops around it."""
    chosen = path.with_suffix(".chosen.mlir")
    to = (f"--compile-to={CONFIGURED}", "-o", str(chosen))
    done = run([IREE_COMPILE, str(path), *CPU_FLAGS, *to])
    if done.code:
        raise SystemExit(f"{path}: {done.stderr[:300]}")
    text, number = [], -1
    for line in chosen.read_text().splitlines(keepends=True):
        if found := re.search(r"hal.executable private @t(\d+)_dispatch", line):
            number = int(found[1])
        if number in configs and "lowering_config" in line:
            (whole,) = re.findall(r"#iree_cpu.lowering_config<[^>]*>", configs[number])
            (tile,) = re.findall(r"vector_common_parallel = \[(.*?)\]", whole)
            around = ", ".join(tile.split(", ")[:4])
            small = f"#iree_cpu.lowering_config<vector_common_parallel = [{around}]>"
            new = whole if "distribution" in line else small
            line = re.sub(r"#iree_cpu.lowering_config<[^>]*>", new, line)
        text.append(line)
    path.write_text("".join(text))


def _record(operation: Operation, work: Path) -> None:
    module = work / f"{operation.name}.vmfb"
    times: dict[int, float] = {}
    named = re.findall(r"func.*@t(\d+)\(", module.with_suffix(".mlir").read_text())
    for number in sorted(set(map(int, named))):
        call = capture.Run(
            module=str(module),
            function=f"t{number}",
            inputs=_inputs(operation),
            devices=("local-task",),
            warmup=WARMUP,
            iterations=CALLS,
        )
        try:
            trace = capture.capture(call, "")
        except TraceError as problem:
            print(f"{operation.name} t{number}: {problem}", flush=True)
            continue
        kinds = [trace.kinds[kind].what for kind in trace.launches.kind.tolist()]
        durations = zip(trace.launches.duration_ns.tolist(), kinds, strict=True)
        times[number] = median(time for time, what in durations if what == "dispatch") / 1e3
    (work / f"{operation.name}.json").write_text(json.dumps(times))


def _compare(operation: Operation, work: Path, target: str) -> str:
    measured = json.loads((work / f"{operation.name}.json").read_text())
    source = str(work / f"{operation.name}.mlir")
    flags = (f"--xpu-target={target}", "--xpu-effort=low", "--format=jsonl")
    child = run([XPU_SHARK, "simulate", source, *CPU_FLAGS, *_phase(operation), *flags])
    records = [json.loads(line) for line in child.stdout.decode().splitlines()]
    simulated = {r["function"]: r["time_ns"] for r in records if r["type"] == "dispatch"}
    pairs = [(simulated[f"t{number}"] / 1e3, time) for number, time in measured.items()]
    chosen, best = min(pairs)[1], min(time for _, time in pairs)
    error = median(abs(guess / time - 1) for guess, time in pairs)
    return (
        f"{operation.name:<24}{len(pairs):>4} tilings, {best:.0f} to "
        f"{max(time for _, time in pairs):.0f} us measured, tau {kendall(pairs):.2f}, the best "
        f"simulated is {chosen / best - 1:.0%} from the best, median error {error:.0%}"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", help="file that xpu-shark calibrate wrote")
    parser.add_argument("names", nargs="*", help="operations to take, default all")
    parser.add_argument("--work", type=Path, help="keep modules and times here")
    parser.add_argument("--steps", type=_steps, default=list(STEPS), help=", ".join(STEPS))
    return parser.parse_intermixed_args()


if __name__ == "__main__":
    sys.exit(main())
