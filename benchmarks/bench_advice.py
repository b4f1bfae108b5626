"""CPU time of all advice on whole programs.

    python benchmarks/bench_advice.py [--runs=3] [--target=tpu_v6e] [FILE ...]

`xpu-shark simulate` with --xpu-effort=low, which gives no advice, and with `default` alternate in
one run: advice is the difference of the medians, every thread and child counted. Ends with 1 where
it takes longer than the bar of a program that has one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median

from child import CPU_FLAGS, XPU_SHARK, run

PROGRAMS = Path(__file__).resolve().parents[2] / "shared" / "programs"
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "transformer_block.mlir"
BARS_S = {"llm/jax__gpt2_small_12layers_s64.mlir": 5.0, "conv/jax__resnet18_224.mlir": 10.0}


def main() -> int:
    known = [PROGRAMS / name for name in BARS_S if (PROGRAMS / name).exists()]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--target", default="tpu_v6e")
    parser.add_argument("files", nargs="*", type=Path, default=known or [EXAMPLE])
    args = parser.parse_args()
    bars = {PROGRAMS / name: bar for name, bar in BARS_S.items()}
    print(f"{'file':<44}{'without s':>10}{'with s':>8}{'advice s':>10}{'findings':>10}")
    missed = False
    for path in args.files:
        without, with_, findings = _measure(path, args.target, args.runs)
        missed |= with_ - without > bars.get(path, float("inf"))
        print(f"{path.name:<44}{without:>10.2f}{with_:>8.2f}{with_ - without:>10.2f}{findings:>10}")
    return 1 if missed else 0


def _measure(path: Path, target: str, runs: int) -> tuple[float, float, int]:
    """Median CPU seconds without and with advice, and the number of findings."""
    times: dict[str, list[float]] = {"low": [], "default": []}
    findings = 0
    for _ in range(runs):
        for effort, taken in times.items():
            flags = [f"--xpu-target={target}", f"--xpu-effort={effort}", "--format=jsonl"]
            child = run([XPU_SHARK, "simulate", str(path), *CPU_FLAGS, *flags])
            if child.code:
                sys.exit(f"{path}: {child.stderr[-300:]}")
            taken.append(child.cpu_s)
            findings = child.stdout.count(b'{"type":"finding"')
    return median(times["low"]), median(times["default"]), findings


if __name__ == "__main__":
    sys.exit(main())
