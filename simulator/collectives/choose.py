"""The fastest algorithm, protocol and chunk count for one collective, found by simulation.

Estimates rank all candidates; the best few, where they are close, are simulated. The result depends
on nothing but target, kind, bytes and group, so it is kept.
"""

from __future__ import annotations

from functools import lru_cache

from xpu_shark.simulator.collectives.candidates import (
    Candidate,
    Run,
    Team,
    candidates,
    messages,
    simulate,
)
from xpu_shark.simulator.collectives.permutation import Pairs
from xpu_shark.simulator.collectives.pieces import Job
from xpu_shark.simulator.collectives.price import estimate_ps
from xpu_shark.simulator.collectives.registry import ALGORITHMS
from xpu_shark.simulator.network import NetworkError
from xpu_shark.simulator.target import Network, Target

SIMULATED = 3  # candidates at most
CLOSE = 1.15  # estimates above this times the best are not simulated
WORTH = 0.02  # more chunks have to make the estimate smaller by this share
MESSAGES = 400  # candidates with more to simulate need an estimate under DEAR times the others'
DEAR = 0.5


@lru_cache(maxsize=1024)
def choose(
    target: Target,
    kind: str,
    bytes: int,
    team: int | Team,
    pairs: Pairs = (),
    *,
    library: bool = True,
    fold: bool = True,
) -> Run:
    """The fastest, by algorithms of the chip's own library (`Network.algorithms`) or by any.

    `pairs` is who sends to whom of a send_recv, () the next one around. With `fold=False` the one
    that is chosen is simulated once more, on every device. Raises `NetworkError` where the network
    cannot join the team or is not described, `ValueError` where no algorithm does such a
    collective (see `registry.known_kinds`).
    """
    network = target.network
    if network is None:
        raise NetworkError(f"target {target.name} describes no network")
    names = _library(target.name, network, kind) if library else ()
    found = candidates(network, kind, bytes, team, names, target.memory[0].burst_bytes, pairs)
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
        cost = estimate_ps(candidate, Job(bytes, candidate.chunks, target.memory[0]))
        if key not in best or cost < (1 - WORTH) * best[key][0]:
            best[key] = (cost, candidate)
    return sorted(best.values(), key=lambda entry: entry[0])
