"""Prints every figure of a search, for comparing one process with another."""

from __future__ import annotations

import sys
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parent))

from kernels import matmul, softmax

from xpu_shark.simulator import tiling as tilings
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.search import Candidate, search
from xpu_shark.simulator.target import load


def ranked(workers: int) -> list[list[Candidate]]:
    """Searches on two targets with `workers` processes; 0 is none but this one."""
    pool: ProcessPoolExecutor | nullcontext[None]
    pool = ProcessPoolExecutor(workers) if workers else nullcontext()
    with pool as executor:
        return [
            _search(name, executor if isinstance(executor, Executor) else None)
            for name in ("tiny", "h100")
        ]


def _search(name: str, executor: Executor | None) -> list[Candidate]:
    target = load(name)
    found = []
    for kernel in (matmul(96, 80, 72), softmax(24, 300)):
        bound = bind(kernel, {})
        start = tilings.choose(bound, target, "default")
        found += search(bound, target, start, executor=executor)
    return found


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(ranked(int(sys.argv[1]))))
