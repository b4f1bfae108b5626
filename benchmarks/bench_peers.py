"""The simulator beside scalesim, zigzag-dse and simpy: the same work in the same run.

    python benchmarks/bench_peers.py [--only gemm,resnet18,engine,growth] [--repeats N]

Every figure is CPU time of a fresh process without the interpreter's start and imports; ours is
the median of N processes, a peer that takes seconds runs once. The tables are Markdown, for
docs/performance.md. Exit code 1 if a figure misses what docs/performance.md promises.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import peer_venvs
import resnet18
from peer_venvs import HERE, PeerError, ask

ARRAY = str(HERE / "array128.toml")
GEMMS = (256, 512, 1024, 4096, 16384)
LARGEST_SCALESIM = 1024  # minutes and a gigabyte there, growing with the cube
GROWTH = (256, 1024, 4096, 16384, 65536, 1 << 20)
CORES = (1, 4, 16, 64, 132, 256)
TILES = 20_000  # of the engine's pipeline


class Promises:
    """Figures that must hold; what does not is printed at the end."""

    def __init__(self) -> None:
        self.broken: list[str] = []

    def at_most(self, what: str, value: float, limit: float) -> None:
        if value > limit:
            self.broken.append(f"{what}: {value:.4g}, promised at most {limit:g}")

    def at_least(self, what: str, value: float, limit: float) -> None:
        if value < limit:
            self.broken.append(f"{what}: {value:.4g}, promised at least {limit:g}")


def gemm(repeats: int, promises: Promises) -> None:
    """One GEMM M = N = K, int8, on a 128 x 128 array."""
    rows = []
    mine = {}
    for size in GEMMS:
        given = median(repeats, "gemm", size, "given", ARRAY)
        chosen = median(repeats, "gemm", size, "default", ARRAY)
        best = median(repeats, "gemm", size, "best", ARRAY)
        mine[size] = given["cpu_s"]
        row = [size, *_ms(given, chosen, best), given["time_ps"] // 1000]
        scalesim = _scalesim(size) if size <= LARGEST_SCALESIM else None
        zigzag = _zigzag([resnet18.loops("gemm", (size, size, size, 1, 1, 1, 1), 1)])
        for peer in (scalesim, zigzag):
            row += ["", "", ""] if peer is None else _versus(peer, given)
        if scalesim is not None and size == 1024:
            ratio = scalesim["cpu_s"] / given["cpu_s"]
            promises.at_least("GEMM 1024, times faster than scalesim", ratio, 2000)
        rows.append(row)
    peers = [
        f"{peer} {what}" for peer in ("scalesim", "zigzag") for what in ("s", "ratio", "cycles")
    ]
    table(("M=N=K", "given ms", "default ms", "best ms", "cycles", *peers), rows)
    promises.at_most("GEMM 1024, seconds", mine[1024], 0.03)
    promises.at_most("GEMM 4096, seconds", mine[4096], 0.05)
    promises.at_most("GEMM 16384 against 1024", mine[16384] / mine[1024], 1.5)


def layers(repeats: int, promises: Promises) -> None:
    """ResNet-18, all 21 layers, int8."""
    given = median(repeats, "resnet18", "default", ARRAY)
    best = median(repeats, "resnet18", "best", ARRAY)
    zigzag = _zigzag(resnet18.loop_sizes())
    ratio = zigzag["cpu_s"] / best["cpu_s"]
    rows = [
        ["ours, default tiling", f"{given['cpu_s']:.3f}", "", given["time_ps"] // 1000],
        ["ours, best tiling", f"{best['cpu_s']:.3f}", "1", best["time_ps"] // 1000],
        ["zigzag-dse", f"{zigzag['cpu_s']:.1f}", f"{ratio:.0f}", zigzag["cycles"]],
    ]
    table(("ResNet-18", "CPU s", "ratio", "cycles"), rows)
    promises.at_most("ResNet-18 with default tiles, seconds", given["cpu_s"], 0.4)
    promises.at_least("ResNet-18 searched, times faster than zigzag", ratio, 20)


def engine(repeats: int, promises: Promises) -> None:
    """A load, compute, store pipeline, every instruction executed, against the same in simpy."""
    mine = median(repeats, "engine", TILES)
    interpreter = peer_venvs.python("simpy")
    theirs = _middle([ask(interpreter, "peer_simpy.py", [TILES]) for _ in range(repeats)])
    if mine["time"] != theirs["time"]:
        raise PeerError(f"simpy ends at {theirs['time']}, the engine at {mine['time']}")
    rates = [run["instructions"] / run["cpu_s"] for run in (mine, theirs)]
    table(
        ("engine", "instructions/s", "ratio"),
        [
            ["ours, unfolded", f"{rates[0]:,.0f}", "1"],
            ["simpy", f"{rates[1]:,.0f}", f"{rates[0] / rates[1]:.1f}"],
        ],
    )
    promises.at_least("instructions a second, unfolded", rates[0], 400_000)


def growth(repeats: int, promises: Promises) -> None:
    """Time and memory against the size of a GEMM, and against the number of cores."""
    rows = []
    for size in GROWTH:
        runs = [median(repeats, "gemm", size, how, ARRAY) for how in ("given", "default")]
        rows.append([f"{size:,}", *_ms(*runs), f"{runs[1]['peak_mb']:.0f}"])
        promises.at_most(f"GEMM {size}, MB", runs[1]["peak_mb"], 200)
    table(("M=N=K", "given ms", "default ms", "peak MB"), rows)
    rows = []
    for count in CORES:
        run = median(repeats, "cores", count, "default", "h100")
        rows.append([count, *_ms(run), run["time_ps"] // 1_000_000])
        promises.at_most(f"GEMM 8192 on {count} cores, seconds", run["cpu_s"], 0.2)
    table(("cores, GEMM 8192 bf16", "default ms", "simulated us"), rows)


PARTS: dict[str, Callable[[int, Promises], None]] = {
    "gemm": gemm,
    "resnet18": layers,
    "engine": engine,
    "growth": growth,
}


def median(repeats: int, *arguments: object) -> dict[str, float]:
    return _middle([peer_venvs.ours(*arguments) for _ in range(repeats)])


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    print(f"| {' | '.join(head)} |")
    print(f"|{' --- |' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |")
    print(flush=True)


def machine() -> str:
    """CPU model, cores, Python."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "")
    cores = os.cpu_count()
    return f"{model or platform.processor()}, {cores} cores, Python {platform.python_version()}"


def _middle(runs: list[dict[str, float]]) -> dict[str, float]:
    """The run of median CPU time."""
    return sorted(runs, key=lambda run: run["cpu_s"])[(len(runs) - 1) // 2]


def _ms(*runs: dict[str, float]) -> list[str]:
    return [f"{1000 * run['cpu_s']:.1f}" for run in runs]


def _versus(peer: dict[str, float], mine: dict[str, float]) -> list[str]:
    ratio = peer["cpu_s"] / mine["cpu_s"]
    return [f"{peer['cpu_s']:.2f}", f"{ratio:,.0f}", f"{peer['cycles']:.0f}"]


def _scalesim(size: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        arguments = [size, size, size, folder]
        return ask(peer_venvs.python("scalesim"), "peer_scalesim.py", arguments)


def _zigzag(work: list[dict[str, object]]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "layers.json")
        path.write_text(json.dumps(work))
        return ask(peer_venvs.python("zigzag"), "peer_zigzag.py", [path, folder])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    if unknown := set(arguments.only.split(",")) - set(PARTS):
        parser.error(f"--only: no part {sorted(unknown)[0]!r} (known: {', '.join(PARTS)})")
    promises = Promises()
    print(f"{machine()}\n")
    for name in arguments.only.split(","):
        try:
            PARTS[name](arguments.repeats, promises)
        except PeerError as error:
            print(f"bench_peers: {error}", file=sys.stderr)
            promises.broken.append(f"{name}: not finished")
    for line in promises.broken:
        print(f"missed: {line}")
    return 1 if promises.broken else 0


if __name__ == "__main__":
    sys.exit(main())
