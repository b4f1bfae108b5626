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
from xpu_shark.simulator.collectives.price import Price, Pricing
from xpu_shark.simulator.collectives.registry import ALGORITHMS
from xpu_shark.simulator.network import NetworkError
from xpu_shark.simulator.target import Network, Target

SIMULATED = 3  # candidates at most
CLOSE = 1.15  # estimates above this times the best are not simulated
WORTH = 0.02  # more chunks have to make the estimate smaller by this share
MESSAGES = 400  # candidates with more to simulate need an estimate under DEAR times the others'
DEAR = 0.5
SEARCHED = (
    1_600  # messages up to which a search also tries one whose estimate is CLOSE times better
)
Key = tuple[str, str]  # algorithm and protocol


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
    found = _found(target, kind, bytes, team, pairs, library=library)
    prices = _Prices(target, bytes)
    best: Run | None = None
    close = _contenders(found, prices)
    if not library:
        close = [*_better(found, prices, close[0][1]), *close]
    for least, candidate in close:
        if best is None or least < best.timeline.time_ps:  # else it cannot be faster
            run = simulate(candidate, target, bytes)
            if best is None or run.timeline.time_ps < best.timeline.time_ps:
                best = run
    assert best is not None
    best = _more_chunks(best, found, prices)
    return best if fold else simulate(best.candidate, target, bytes, fold=False)


def estimate_ps(target: Target, kind: str, bytes: int, team: Team, *, library: bool = True) -> int:
    """Picoseconds without the launch by the best estimate, from which the fastest is at most
    `CLOSE` times away; for deciding what to simulate. Raises as `choose`."""
    prices = _Prices(target, bytes)
    found = _found(target, kind, bytes, team, (), library=library)
    return _ranked(found, prices)[0][0].estimate


def _found(
    target: Target, kind: str, bytes: int, team: int | Team, pairs: Pairs, *, library: bool
) -> list[Candidate]:
    """All that could be chosen."""
    network = target.network
    if network is None:
        raise NetworkError(f"target {target.name} describes no network")
    names = _library(target.name, network, kind) if library else ()
    found = candidates(network, kind, bytes, team, names, target.memory[0].burst_bytes, pairs)
    if not found:
        raise ValueError(f"no algorithm for {kind}")
    return found


class _Prices:
    """Prices of candidates for one target and payload."""

    def __init__(self, target: Target, bytes: int) -> None:
        self.target, self.bytes = target, bytes
        self._by_key: dict[Key, Pricing] = {}

    def __getitem__(self, candidate: Candidate) -> Price:
        key = _key(candidate)
        if key not in self._by_key:
            self._by_key[key] = Pricing(candidate)
        return self._by_key[key].price(Job(self.bytes, candidate.chunks, self.target.memory[0]))


def _key(candidate: Candidate) -> Key:
    return candidate.algorithm, candidate.protocol


def _more_chunks(best: Run, found: list[Candidate], prices: _Prices) -> Run:
    """Estimates do not see lanes wait for each other: go on cutting while it is worth it."""
    start = best.candidate
    for candidate in found:
        if messages(candidate) > MESSAGES or _key(candidate) != _key(start):
            continue
        if candidate.chunks in (2 * best.candidate.chunks, 4 * best.candidate.chunks):
            enough = (1 - WORTH) * best.timeline.time_ps
            if prices[candidate].least >= enough:
                continue
            run = simulate(candidate, prices.target, prices.bytes)
            if run.timeline.time_ps < enough:
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


def _contenders(found: list[Candidate], prices: _Prices) -> list[tuple[int, Candidate]]:
    """(least time, candidate) of those close to the best estimate; one that is dear to simulate
    only if far ahead."""
    cheap = _ranked([c for c in found if messages(c) <= MESSAGES], prices)
    dear = _ranked([c for c in found if messages(c) > MESSAGES], prices)
    if dear and (not cheap or dear[0][0].estimate < DEAR * cheap[0][0].estimate):
        return [(0, dear[0][1])]
    most = CLOSE * cheap[0][0].estimate
    close = [(price.least, c) for price, c in cheap[:SIMULATED] if price.estimate <= most]
    # Simulating all devices is dear: once is enough.
    alone = [c for _, c in close if not c.folded][1:]
    return [(least, c) for least, c in close if c not in alone]


def _better(
    found: list[Candidate], prices: _Prices, best: Candidate
) -> list[tuple[int, Candidate]]:
    """Of those that are dear, though not very, the first, where its estimate is clearly better."""
    dear = [c for c in found if MESSAGES < messages(c) <= SEARCHED]
    most = prices[best].estimate / CLOSE
    return [(price.least, c) for price, c in _ranked(dear, prices)[:1] if price.estimate < most]


def _ranked(found: list[Candidate], prices: _Prices) -> list[tuple[Price, Candidate]]:
    """By estimate, every algorithm and protocol once: with the fewest chunks that are worth it.
    Past those, where latency no longer counts, more chunks only cost more."""
    best: dict[Key, tuple[Price, Candidate]] = {}
    past: set[Key] = set()
    for candidate in found:
        key = _key(candidate)
        if key in past:
            continue
        price = prices[candidate]
        if key not in best or price.estimate < (1 - WORTH) * best[key][0].estimate:
            best[key] = (price, candidate)
        elif price.estimate > best[key][0].estimate:
            past.add(key)
    return sorted(best.values(), key=lambda entry: entry[0].estimate)
