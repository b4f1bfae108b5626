"""Links moved within what is uncertain: the algorithm stays, its closed form moves."""

from __future__ import annotations

import msgspec
import pytest

from xpu_shark.simulator.collectives.candidates import Team
from xpu_shark.simulator.collectives.choose import choose
from xpu_shark.simulator.link_variation import link_moves, time_after
from xpu_shark.simulator.target import Network, Target, Uncertainty, load

TINY = load("tiny")


def ring(p: int, n: int, rate: float, latency_ns: float) -> float:
    """Picoseconds of a ring all-gather (docs/collectives.md), behind a launch of 10 ns."""
    return 1000 * (10 + (p - 1) * (latency_ns + n / p / (rate / 1e9)))


def free(network: Network) -> Target:
    """`tiny` with one-way rings and a memory that no collective waits for."""
    memory = msgspec.structs.replace(TINY.memory[0], bytes_per_s=1e18, peak_bytes_per_s=None)
    spread = Uncertainty(bandwidth=0.2, latency=0.5)
    return msgspec.structs.replace(
        TINY, network=network, memory=(memory, *TINY.memory[1:]), uncertainty=spread
    )


def test_a_ring_follows_its_closed_form_on_every_moved_target() -> None:
    only = {"all_gather": ("ring",)}
    network = Network(topology="ring", links=2, bytes_per_s=1e9, latency_ns=100.0, algorithms=only)
    target = free(network)
    assert choose(target, "all_gather", 400, 2).candidate.label == "ring"
    moved = {
        (what, each.network.bytes_per_s, each.network.latency_ns): time_after(
            target, each, "all_gather", 400, Team(2)
        )
        for what, each in link_moves(target)
        if each.network is not None
    }
    assert sorted(moved) == [
        ("link bandwidth", 0.8e9, 100.0),
        ("link bandwidth", 1.2e9, 100.0),
        ("link latency", 1e9, 50.0),
        ("link latency", 1e9, 150.0),
    ]
    for (_, rate, latency_ns), time in moved.items():
        assert time == pytest.approx(ring(2, 400, rate, latency_ns), rel=1e-4)


def test_protocols_and_outer_networks_move_along() -> None:
    a100 = load("a100")
    for what, each in link_moves(a100):
        assert each.network is not None
        assert each.network.outer is not None
        slower = [p.latency_ns for p in each.network.protocols]
        assert (slower != [700.0] * 3) == (what == "link latency")
        assert (each.network.outer.bytes_per_s != 25e9) == (what == "link bandwidth")


def test_without_a_network_there_is_nothing_to_move() -> None:
    assert list(link_moves(load("xdna2"))) == []
