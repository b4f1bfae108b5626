"""What simulating collectives costs: one device for all, every device, and choosing an algorithm.

    python benchmarks/bench_collectives.py

A ring all-reduce of 64 MiB over 512 devices in 4 chunks, folded and with every message of every
device simulated; rings of 16 to 16,384 devices; then what it takes to choose the algorithm of
collectives on the targets that ship, most first. CPU seconds, the least of three runs; each choice
is made once, in a process that has made another before. Ends with 1 if the two runs of the ring
differ, or if one costs more than it may.
"""

from __future__ import annotations

import itertools
import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from xpu_shark.simulator import target as targets
from xpu_shark.simulator.collectives.candidates import Candidate, candidates, simulate
from xpu_shark.simulator.collectives.choose import choose
from xpu_shark.simulator.network import NetworkError
from xpu_shark.simulator.target import Target

MIB = 2**20
FOLDED_S, UNFOLDED_S = 0.05, 4.0  # the most that the ring of 512 may cost
KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv")
GROUPS = (2, 4, 8, 16, 64, 512)
FEW, SHOWN = 16, 10
Result = TypeVar("Result")


def cpu_s(call: Callable[[], Result], runs: int = 3) -> tuple[float, Result]:
    """(the least CPU seconds of some runs, what the call gave)."""
    least = float("inf")
    for _ in range(runs):
        start = time.process_time()
        result = call()
        least = min(least, time.process_time() - start)
    return least, result


def ring_of(target: Target, devices: int, bytes: int, chunks: int) -> tuple[Target, Candidate]:
    """The target with its links in a ring, and a ring all-reduce on it."""
    assert target.network is not None
    network = msgspec.structs.replace(target.network, topology="ring", links=2, wrap_from=1)
    (ring,) = [
        candidate
        for candidate in candidates(network, "all_reduce", bytes, devices, ("ring",))
        if candidate.chunks == chunks
    ]
    return msgspec.structs.replace(target, network=network), ring


def main() -> int:
    tpu = targets.load("tpu_v6e")
    target, ring = ring_of(tpu, 512, 64 * MIB, 4)
    folded_s, folded = cpu_s(lambda: simulate(ring, target, 64 * MIB))
    every_s, every = cpu_s(lambda: simulate(ring, target, 64 * MIB, fold=False))
    same = folded.timeline.time_ps == every.timeline.time_ps
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print("ring all-reduce of 64 MiB, 512 devices, 4 chunks        CPU s  instructions     time us")
    for name, seconds, run in (("one for all", folded_s, folded), ("every one", every_s, every)):
        steps, time_us = run.timeline.steps, run.timeline.time_ps / 1e6
        print(f"  {name:<52}{seconds:>8.4f}{steps:>14}{time_us:>12.3f}")
    print(f"  {'same' if same else 'NOT THE SAME'}; peak memory {peak} MB\n")
    print("ring all-reduce of 1 GiB, 1 chunk, one for all          CPU s  instructions     time us")
    for devices in (16, 128, 1024, 16384):
        target, ring = ring_of(tpu, devices, 1024 * MIB, 1)
        seconds, run = cpu_s(lambda ring=ring, target=target: simulate(ring, target, 1024 * MIB))  # type: ignore[misc]
        steps, time_us = run.timeline.steps, run.timeline.time_ps / 1e6
        print(f"  {devices:<52}{seconds:>8.4f}{steps:>14}{time_us:>12.3f}")
    _choices()
    return 0 if same and folded_s <= FOLDED_S and every_s <= UNFOLDED_S else 1


def _choices() -> None:
    rows = [
        (seconds, group, f"{kind} on {group} {name}", label)
        for name, kind, group in itertools.product(targets.names(), KINDS, GROUPS)
        for seconds, label in _choice(targets.load(name), kind, group)
    ]
    rows.sort(reverse=True)
    small = sorted(seconds for seconds, group, *_ in rows if group <= FEW)
    middle, most = small[len(small) // 2], small[-1]
    print(f"\nchoice of an algorithm for 4 MiB: {len(rows)} of kind, devices and target")
    print(
        f"  up to {FEW} devices: half of them in {middle:.4f} s, all in {most:.4f} s; the dearest:"
    )
    for seconds, _, what, label in rows[:SHOWN]:
        print(f"  {what:<32}{label:<28}{seconds:>8.4f}")


def _choice(target: Target, kind: str, group: int) -> Iterator[tuple[float, str]]:
    """(CPU seconds, what was chosen); nothing where the network does not join so many."""
    if target.network is not None:
        try:
            choose(target, kind, 4 * MIB + 4096, 2)  # what is loaded once
            seconds, run = cpu_s(lambda: choose(target, kind, 4 * MIB, group), runs=1)
        except NetworkError:
            return
        yield seconds, run.candidate.label


if __name__ == "__main__":
    sys.exit(main())
