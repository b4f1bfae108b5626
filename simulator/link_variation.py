"""Targets with their links moved within what is uncertain, and collectives done there as before."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.simulator.collectives.candidates import Team, candidates, simulate
from xpu_shark.simulator.collectives.choose import choose
from xpu_shark.simulator.collectives.permutation import Pairs
from xpu_shark.simulator.target import Network, Target

replace = msgspec.structs.replace


def link_moves(target: Target) -> Iterator[tuple[str, Target]]:
    """(what is uncertain, the target with it at one end of its stated range): the links' rate, and
    what a hop and a message cost whatever their size. Nothing without a network."""
    network, spread = target.network, target.uncertainty
    for sign in (-1.0, 1.0) if network is not None else ():
        assert network is not None
        rate, delay = 1 + sign * spread.bandwidth, 1 + sign * spread.latency
        yield "link bandwidth", replace(target, network=_scaled(network, rate, 1.0))
        yield "link latency", replace(target, network=_scaled(network, 1.0, delay))


def _scaled(network: Network, rate: float, delay: float) -> Network:
    protocols = tuple(
        replace(
            each,
            bytes_per_s=None if each.bytes_per_s is None else each.bytes_per_s * rate,
            latency_ns=each.latency_ns * delay,
            message_ns=each.message_ns * delay,
        )
        for each in network.protocols
    )
    outer = None if network.outer is None else _scaled(network.outer, rate, delay)
    return replace(
        network,
        bytes_per_s=network.bytes_per_s * rate,
        latency_ns=network.latency_ns * delay,
        message_ns=network.message_ns * delay,
        protocols=protocols,
        outer=outer,
    )


def time_after(
    target: Target,
    moved: Target,
    kind: str,
    bytes: int,
    team: Team,
    pairs: Pairs = (),
    *,
    library: bool = True,
    fold: bool = True,
) -> int:
    """Picoseconds on `moved`, with the algorithm, protocol and chunks chosen on `target`; `fold` as
    it was chosen there, which is kept."""
    chosen = choose(target, kind, bytes, team, pairs, library=library, fold=fold).candidate
    assert moved.network is not None
    burst = moved.memory[0].burst_bytes
    found = candidates(moved.network, kind, bytes, team, (chosen.algorithm,), burst, pairs)
    same = next(each for each in found if each.label == chosen.label)
    return simulate(same, moved, bytes).timeline.time_ps
