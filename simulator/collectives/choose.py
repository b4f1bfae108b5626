"""The fastest algorithm, protocol and chunk count for one collective, found by simulation.

Estimates rank all candidates; the best few, where they are close, are simulated. The result depends
on nothing but target, kind, bytes and group, so it is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from xpu_shark.simulator.collectives import permutation
from xpu_shark.simulator.collectives.lower import foldable, lower
from xpu_shark.simulator.collectives.permutation import Pairs, is_shift
from xpu_shark.simulator.collectives.pieces import Job
from xpu_shark.simulator.collectives.price import estimate_ps
from xpu_shark.simulator.collectives.registry import ALGORITHMS
from xpu_shark.simulator.collectives.schedule import Listed, Schedule
from xpu_shark.simulator.engine import run
from xpu_shark.simulator.network import Fabric, NetworkError, fabric
from xpu_shark.simulator.program import Instruction, Loop, Program
from xpu_shark.simulator.target import Network, Target
from xpu_shark.simulator.timeline import Timeline
from xpu_shark.simulator.units.launch import launch_ps

CHUNKS = (1, 2, 4, 8, 16, 32)
SIMULATED = 3  # candidates at most
CLOSE = 1.15  # estimates above this times the best are not simulated
WORTH = 0.02  # more chunks have to make the estimate smaller by this share
MESSAGES = 400  # candidates with more to simulate need an estimate under DEAR times the others'
DEAR = 0.5
MOST = 10_000  # messages that are too many where any candidate has fewer
UNFOLDED = 20_000  # instructions up to which running them all beats looking for periods


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
    network: Network,
    kind: str,
    bytes: int,
    group: int,
    names: tuple[str, ...] = (),
    least_bytes: int = 1,
    pairs: Pairs = (),
) -> list[Candidate]:
    """Every algorithm (of `names`; () is all) with every protocol, and every chunk count that
    leaves a device's share of a chunk `least_bytes`.

    Raises `NetworkError` where the network cannot join so many devices.
    """
    found: list[Candidate] = []
    for protocol in network.protocols or (None,):
        joined = fabric(network, group, protocol)
        for name, schedule in _schedules(kind, joined, names, pairs):
            folded = foldable(schedule, joined)
            label = protocol.name if protocol else ""
            for chunks in CHUNKS:
                if chunks == 1 or chunks * group * least_bytes <= bytes:
                    found.append(Candidate(name, label, chunks, schedule, joined, folded))
    return [c for c in found if messages(c) <= MOST] or sorted(found, key=messages)[:1]


def messages(candidate: Candidate) -> int:
    """About how many messages a simulation goes through: repeated steps of a ring fold."""
    count = 0
    for lane in candidate.schedule.lanes:
        if isinstance(lane, Listed):
            count += sum(map(len, lane.rounds))
            continue
        once = sum(min(p.count, 3) if p.turn == 0 else p.count for p in lane.phases)
        count += once * (1 if candidate.folded else candidate.schedule.devices)
    return count * candidate.chunks


def simulate(candidate: Candidate, target: Target, bytes: int, *, fold: bool = True) -> Run:
    """With `fold=False` every device and every message is simulated."""
    job = Job(bytes, candidate.chunks, target.memory[0], launch_ps(target))
    if not fold:
        return Run(candidate, _every_device(candidate, job))
    program = lower(candidate.schedule, candidate.fabric, job, folded=candidate.folded)
    return Run(candidate, run(program, fold=length(program) > UNFOLDED))


def _every_device(candidate: Candidate, job: Job) -> Timeline:
    """All of them together where all do the same and none is served otherwise than the others."""
    if candidate.folded:
        from xpu_shark.simulator.collectives.lockstep import run_all  # needs NumPy

        if timeline := run_all(candidate.schedule, candidate.fabric, job):
            return timeline
    return run(lower(candidate.schedule, candidate.fabric, job, folded=False), fold=False)


def length(program: Program) -> int:
    """How many instructions the program executes."""
    return sum(_length(stream.body) for stream in program.streams)


def _length(body: tuple[Instruction | Loop, ...]) -> int:
    return sum(item.count * _length(item.body) if isinstance(item, Loop) else 1 for item in body)


@lru_cache(maxsize=1024)
def choose(
    target: Target,
    kind: str,
    bytes: int,
    group: int,
    pairs: Pairs = (),
    *,
    library: bool = True,
    fold: bool = True,
) -> Run:
    """The fastest, by algorithms of the chip's own library (`Network.algorithms`) or by any.

    `pairs` is who sends to whom of a send_recv, () the next one around. With `fold=False` the one
    that is chosen is simulated once more, on every device. Raises `NetworkError` where the network
    cannot join the group or is not described, `ValueError` where no algorithm does such a
    collective (see `registry.known_kinds`).
    """
    network = target.network
    if network is None:
        raise NetworkError(f"target {target.name} describes no network")
    names = _library(target.name, network, kind) if library else ()
    found = candidates(network, kind, bytes, group, names, target.memory[0].burst_bytes, pairs)
    if not found:
        raise ValueError(f"no algorithm for {kind}")
    close = _contenders(found, target, bytes)
    runs = [simulate(candidate, target, bytes) for candidate in close]
    best = min(runs, key=lambda done: done.timeline.time_ps)
    best = _more_chunks(best, found, target, bytes)
    return best if fold else simulate(best.candidate, target, bytes, fold=False)


def _more_chunks(best: Run, found: list[Candidate], target: Target, bytes: int) -> Run:
    """Estimates do not see lanes wait for each other: go on cutting while it is worth it."""
    start = best.candidate
    for candidate in found:
        same = (candidate.algorithm, candidate.protocol) == (start.algorithm, start.protocol)
        if messages(candidate) > MESSAGES:
            continue
        if same and candidate.chunks in (2 * best.candidate.chunks, 4 * best.candidate.chunks):
            run = simulate(candidate, target, bytes)
            if run.timeline.time_ps < (1 - WORTH) * best.timeline.time_ps:
                best = run
    return best


def _library(name: str, network: Network, kind: str) -> tuple[str, ...]:
    """Algorithms of the chip's own library; () where any will do."""
    listed = network.algorithms.get(kind, ())
    known = [algorithm.name for algorithm in ALGORITHMS if kind in algorithm.kinds]
    for algorithm in listed:
        if algorithm not in known:
            raise NetworkError(
                f"target {name}: network.algorithms.{kind} has {algorithm!r} "
                f"(known: {', '.join(known)})"
            )
    return listed


def _contenders(found: list[Candidate], target: Target, bytes: int) -> list[Candidate]:
    """Those close to the best estimate; one that is dear to simulate only if far ahead."""
    cheap = _ranked([c for c in found if messages(c) <= MESSAGES], target, bytes)
    dear = _ranked([c for c in found if messages(c) > MESSAGES], target, bytes)
    if dear and (not cheap or dear[0][0] < DEAR * cheap[0][0]):
        return [dear[0][1]]
    close = [c for cost, c in cheap[:SIMULATED] if cost <= CLOSE * cheap[0][0]]
    alone = [c for c in close if not c.folded][1:]  # simulating all devices is dear: once is enough
    return [c for c in close if c not in alone]


def _ranked(found: list[Candidate], target: Target, bytes: int) -> list[tuple[int, Candidate]]:
    """By estimate, every algorithm and protocol once: with the fewest chunks that are worth it."""
    best: dict[tuple[str, str], tuple[int, Candidate]] = {}
    for candidate in found:
        key = (candidate.algorithm, candidate.protocol)
        cost = estimate_ps(candidate.schedule, candidate.fabric, _job(target, bytes, candidate))
        if key not in best or cost < (1 - WORTH) * best[key][0]:
            best[key] = (cost, candidate)
    return sorted(best.values(), key=lambda entry: entry[0])


def _job(target: Target, bytes: int, candidate: Candidate) -> Job:
    return Job(bytes, candidate.chunks, target.memory[0])


def _schedules(
    kind: str, joined: Fabric, names: tuple[str, ...], pairs: Pairs
) -> Iterator[tuple[str, Schedule]]:
    if pairs and not is_shift(pairs, joined.devices):
        yield "permutation", permutation.schedule(pairs, joined)
        return
    for algorithm in ALGORITHMS:
        if kind in algorithm.kinds and (not names or algorithm.name in names):
            schedule = algorithm.build(kind, joined)
            if schedule is not None:
                yield algorithm.name, schedule
