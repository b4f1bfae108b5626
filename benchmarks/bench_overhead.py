"""CPU time and peak memory that the flag adds to a compile.

    python benchmarks/bench_overhead.py [--runs=5] [--target=tpu_v6e] [FILE ...]

Plain iree-compile and `xpu-shark compile` alternate in one run; medians and their ratio are
printed. CPU time counts every thread and child; interpreter and imports are part of ours.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from child import CPU_FLAGS, IREE_COMPILE, XPU_SHARK, Child, run

PROGRAMS = Path(__file__).resolve().parents[2] / "shared" / "programs"
DEFAULT = ("llm/jax__gpt2_small_12layers_s64.mlir", "conv/jax__resnet18_224.mlir")
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "transformer_block.mlir"


def main() -> int:
    args = _arguments()
    print(f"{'file':<44}{'iree s':>9}{'ours s':>9}{'ratio':>7}{'added s':>9}{'added MB':>10}")
    for path in args.files:
        plain, ours = _alternate(path, args.target, args.runs)
        a, b = (median(child.cpu_s for child in side) for side in (plain, ours))
        memory = median(c.peak_mb for c in ours) - median(c.peak_mb for c in plain)
        print(f"{Path(path).name:<44}{a:>9.2f}{b:>9.2f}{b / a:>7.3f}{b - a:>9.2f}{memory:>10.0f}")
    return 0


def _alternate(path: str | Path, target: str, runs: int) -> tuple[list[Child], list[Child]]:
    plain, ours = [], []
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "out.vmfb"))
        for _ in range(runs):
            plain.append(run([IREE_COMPILE, str(path), *CPU_FLAGS, "-o", out]))
            flag = f"--xpu-target={target}"
            ours.append(run([XPU_SHARK, "compile", str(path), *CPU_FLAGS, flag, "-o", out]))
            if plain[-1].code or ours[-1].code:
                sys.exit(f"{path}: does not compile: {ours[-1].stderr[-300:]}")
    return plain, ours


def _arguments() -> argparse.Namespace:
    known = [PROGRAMS / name for name in DEFAULT if (PROGRAMS / name).exists()]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--target", default="tpu_v6e")
    parser.add_argument("files", nargs="*", default=known or [EXAMPLE])
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
