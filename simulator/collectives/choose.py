"""The fastest algorithm, protocol and chunk count for one collective, found by simulation.

Estimates rank all candidates; the best few, where they are close, are simulated. The result depends
on nothing but target, kind, bytes and group, so it is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from xpu_shark.simulator.collectives.lower import foldable, lower
from xpu_shark.simulator.collectives.pieces import Job
from xpu_shark.simulator.collectives.price import estimate_ps
from xpu_shark.simulator.collectives.registry import ALGORITHMS
from xpu_shark.simulator.collectives.schedule import Schedule
from xpu_shark.simulator.engine import run
from xpu_shark.simulator.network import Fabric, fabric
from xpu_shark.simulator.target import Network, Protocol, Target
from xpu_shark.simulator.timeline import Timeline
from xpu_shark.simulator.units.launch import launch_ps

CHUNKS = (1, 2, 4, 8, 16, 32)
SIMULATED = 3  # candidates at most
CLOSE = 1.15  # estimates above this times the best are not simulated
LARGE = 64  # devices past which all are simulated only where no algorithm lets one stand for all


class Candidate(msgspec.Struct, frozen=True):
    """`folded`: one device stands for all."""

    algorithm: str
    protocol: str
    chunks: int
    schedule: Schedule
    fabric: Fabric
    folded: bool

    @property
    def label(self) -> str:
        """As reports show it: "ring, LL, 4 chunks"."""
        chunks = f"{self.chunks} chunks" if self.chunks > 1 else ""
        return ", ".join(part for part in (self.algorithm, self.protocol, chunks) if part)


class Run(msgspec.Struct, frozen=True):
    """A candidate and its simulation."""

    candidate: Candidate
    timeline: Timeline


def candidates(
    network: Network, kind: str, bytes: int, group: int, names: tuple[str, ...] = ()
) -> list[Candidate]:
    """Every algorithm (of `names`; () is all) with every protocol and sensible chunk count.

    Raises `NetworkError` where the network cannot join so many devices.
    """
    found: list[Candidate] = []
    for protocol in network.protocols or (None,):
        joined = fabric(network, group, protocol)
        for name, schedule in _schedules(kind, joined, names):
            folded = foldable(schedule, joined)
            label = protocol.name if protocol else ""
            for chunks in CHUNKS:
                if chunks == 1 or chunks * group <= bytes:
                    found.append(Candidate(name, label, chunks, schedule, joined, folded))
    if group > LARGE and any(candidate.folded for candidate in found):
        return [candidate for candidate in found if candidate.folded]
    return found


def simulate(candidate: Candidate, target: Target, bytes: int, *, fold: bool = True) -> Run:
    """With `fold=False` every device and every message is simulated."""
    job = Job(bytes, candidate.chunks, target.memory[0], launch_ps(target))
    folded = candidate.folded and fold
    program = lower(candidate.schedule, candidate.fabric, job, folded=folded)
    return Run(candidate, run(program, fold=fold))


@lru_cache(maxsize=1024)
def choose(
    target: Target, kind: str, bytes: int, group: int, *, library: bool = True, fold: bool = True
) -> Run | None:
    """The fastest, by algorithms of the chip's own library (`Network.algorithms`) or by all.

    None where no algorithm does such a collective. Raises `NetworkError`; `ValueError` where the
    target describes no network.
    """
    network = target.network
    if network is None:
        raise ValueError(f"target {target.name} describes no network")
    names = network.algorithms if library else ()
    found = candidates(network, kind, bytes, group, names) or candidates(
        network, kind, bytes, group
    )
    ranked = sorted(
        (estimate_ps(c.schedule, c.fabric, _job(target, bytes, c.chunks)), number)
        for number, c in enumerate(found)
    )
    if not ranked:
        return None
    close = [number for cost, number in ranked[:SIMULATED] if cost <= CLOSE * ranked[0][0]]
    runs = [simulate(found[number], target, bytes, fold=fold) for number in close]
    return min(runs, key=lambda done: (done.timeline.time_ps, done.candidate.chunks))


def _job(target: Target, bytes: int, chunks: int) -> Job:
    return Job(bytes, chunks, target.memory[0])


def _schedules(
    kind: str, joined: Fabric, names: tuple[str, ...]
) -> Iterator[tuple[str, Schedule]]:
    for algorithm in ALGORITHMS:
        if kind in algorithm.kinds and (not names or algorithm.name in names):
            schedule = algorithm.build(kind, joined)
            if schedule is not None:
                yield algorithm.name, schedule
