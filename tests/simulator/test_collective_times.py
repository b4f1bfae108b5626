"""Closed forms, to the picosecond, where nothing but the links limits.

p devices, n bytes, 1000 ps a byte on one link, a hop of 100 000 ps.
"""

from __future__ import annotations

import pytest
from fabrics import BYTE_PS, HOP_PS, flat, groups, mesh, torus

from xpu_shark.simulator.collectives.lower import foldable, lower
from xpu_shark.simulator.collectives.pieces import Job
from xpu_shark.simulator.collectives.registry import by_name
from xpu_shark.simulator.engine import run
from xpu_shark.simulator.network import Fabric, Level


def time_ps(name: str, kind: str, fabric: Fabric, bytes: int, chunks: int = 1) -> int:
    schedule = by_name(name).build(kind, fabric)
    assert schedule is not None
    folded = foldable(schedule, fabric)
    return run(lower(schedule, fabric, Job(bytes, chunks), folded=folded)).time_ps


@pytest.mark.parametrize("p", [2, 3, 5, 8, 16, 17])
def test_ring_takes_its_steps_of_latency_and_every_byte_but_ones_own(p: int) -> None:
    n = 1000 * p
    once = (p - 1) * HOP_PS + (p - 1) * 1000 * BYTE_PS  # (p - 1) a + (p - 1) / p n / B
    for fabric in (flat("ring", p), flat("switch", p), flat("ring_one_way", p)):
        assert time_ps("ring", "all_reduce", fabric, n) == 2 * once
        assert time_ps("ring", "all_gather", fabric, n) == once
        assert time_ps("ring", "reduce_scatter", fabric, n) == once


@pytest.mark.parametrize("p", [3, 8, 17])
def test_ring_both_ways_sends_half_each_way(p: int) -> None:
    # 2 (p - 1) (a + n / (2 p B)) with n / p = 1000 bytes
    expected = 2 * (p - 1) * (HOP_PS + 500 * BYTE_PS)
    assert time_ps("ring both ways", "all_reduce", flat("ring", p), 1000 * p) == expected


def test_ring_both_ways_gains_nothing_over_one_port_to_a_switch() -> None:
    # Each step sends both halves on the one port: 2 x 500 bytes, the first half's latency hidden.
    p = 8
    one, both = (
        time_ps(name, "all_gather", flat("switch", p), 1000 * p)
        for name in ("ring", "ring both ways")
    )
    assert both >= (p - 1) * 1000 * BYTE_PS
    assert one - both <= (p - 1) * HOP_PS


@pytest.mark.parametrize("chunks", [2, 4, 8])
def test_chunks_hide_the_latency_where_the_other_pieces_take_longer(chunks: int) -> None:
    # A step's chunks take 8000 bytes x 1 ns; the first of them is back after its own 8000 / c ns
    # and the hop, which is sooner. So links never idle: all bytes once, and the last hop.
    p, part = 5, 8000
    steps = 2 * (p - 1)
    expected = steps * part * BYTE_PS + HOP_PS
    assert time_ps("ring", "all_reduce", flat("ring", p), p * part, chunks) == expected


def test_chunks_cannot_hide_a_latency_longer_than_the_step() -> None:
    # 40 bytes in 4 chunks of 10 ns: every step lasts a chunk and the hop, the last all four.
    p, steps = 5, 8
    expected = (steps - 1) * (10 * BYTE_PS + HOP_PS) + 40 * BYTE_PS + HOP_PS
    assert time_ps("ring", "all_reduce", flat("ring", p), p * 40, chunks=4) == expected


@pytest.mark.parametrize(("p", "log"), [(2, 1), (4, 2), (8, 3), (16, 4)])
def test_halving_takes_a_logarithm_of_latencies(p: int, log: int) -> None:
    n = 1000 * p
    once = log * HOP_PS + (p - 1) * 1000 * BYTE_PS
    assert time_ps("halving", "all_reduce", flat("switch", p), n) == 2 * once
    assert time_ps("halving", "all_gather", flat("switch", p), n) == once
    # All-to-all sends half of the payload in each of log2(p) steps.
    exchange = log * (HOP_PS + n // 2 * BYTE_PS)
    assert time_ps("halving", "all_to_all", flat("switch", p), n) == exchange


@pytest.mark.parametrize("p", [2, 3, 8, 17])
def test_direct_takes_one_latency(p: int) -> None:
    n = 1000 * p
    shared = HOP_PS + (p - 1) * 1000 * BYTE_PS  # p - 1 messages on the one port
    assert time_ps("direct", "all_to_all", flat("switch", p), n) == shared
    assert time_ps("direct", "all_gather", flat("switch", p), n) == shared
    assert time_ps("direct", "all_reduce", flat("switch", p), n) == 2 * shared
    apart = HOP_PS + 1000 * BYTE_PS  # a link to every peer
    assert time_ps("direct", "all_gather", flat("full", p), n) == apart
    assert time_ps("direct", "all_reduce", flat("full", p), n) == 2 * apart


@pytest.mark.parametrize("p", [2, 5, 16])
def test_one_shot_sends_everything_at_once(p: int) -> None:
    n = 1000
    shared = HOP_PS + (p - 1) * n * BYTE_PS
    assert time_ps("one-shot", "all_reduce", flat("switch", p), n) == shared
    assert time_ps("one-shot", "all_reduce", flat("full", p), n) == HOP_PS + n * BYTE_PS


@pytest.mark.parametrize(("p", "steps"), [(2, 1), (4, 2), (5, 3), (8, 3), (17, 5)])
def test_binomial_tree_doubles_the_holders_each_step(p: int, steps: int) -> None:
    n = 1000
    once = steps * (HOP_PS + n * BYTE_PS)
    for kind in ("broadcast", "reduce"):
        # Behind a switch a root's sends follow each other without waiting for the latency: its
        # last child gets the data after `steps` messages; the deepest node waits for every hop.
        assert time_ps("binomial tree", kind, flat("full", p), n) <= once
    if p & (p - 1) == 0:  # the deepest node is a child of a child ...: every hop once
        assert time_ps("binomial tree", "broadcast", flat("switch", p), n) == once
        assert time_ps("binomial tree", "all_reduce", flat("switch", p), n) == 2 * once


@pytest.mark.parametrize("chunks", [1, 4, 10])
def test_chain_is_a_pipeline(chunks: int) -> None:
    # (p - 1) a + (p - 2 + c) n / (c B)
    p, n = 6, 1000
    piece = n // chunks * BYTE_PS
    expected = (p - 1) * HOP_PS + (p - 2 + chunks) * piece
    for kind in ("broadcast", "reduce"):
        assert time_ps("chain", kind, flat("ring", p), n, chunks) == expected


def test_double_tree_of_three_by_hand() -> None:
    # Half of 1000 bytes in each tree. Tree one: 1 below 2 below 0 (node 1 is a leaf). The other is
    # the same with every number one up: 2 below 0 below 1. Two levels up, two down, all links
    # apart but for what shares a port at different times: 4 (a + n / (2 B)).
    expected = 4 * (HOP_PS + 500 * BYTE_PS)
    assert time_ps("double tree", "all_reduce", flat("full", 3), 1000) == expected


def test_many_chunks_let_the_double_tree_send_at_the_rate_of_a_ring() -> None:
    # 2 n / B, and not 2 log2(p) n / B as a binomial tree takes, in the limit.
    p, n = 16, 2**20
    time = time_ps("double tree", "all_reduce", flat("switch", p), n, chunks=256)
    assert 2 * n * BYTE_PS < time < 2.3 * n * BYTE_PS


def test_torus_along_all_axes_uses_all_links() -> None:
    # k axes of f devices: k (f - 1) a + (p - 1) / p n / (2 k B).
    # 4 x 4: 6 a + 15/16 x 6400 / 4 bytes. 4 x 4 x 4: 9 a + 63/64 x 38400 / 6 bytes.
    assert time_ps("torus all axes", "all_gather", torus(4, 4), 6400) == (
        6 * HOP_PS + 1500 * BYTE_PS
    )
    assert time_ps("torus all axes", "all_gather", torus(4, 4, 4), 38400) == (
        9 * HOP_PS + 6300 * BYTE_PS
    )


def test_torus_per_axis_uses_one_axis_at_a_time() -> None:
    # 4 x 4: 6 a + 15/16 x 6400 / 2 bytes, twice for an all-reduce.
    expected = 6 * HOP_PS + 3000 * BYTE_PS
    assert time_ps("torus per axis", "all_gather", torus(4, 4), 6400) == expected
    assert time_ps("torus per axis", "all_reduce", torus(4, 4), 6400) == 2 * expected


@pytest.mark.parametrize("p", [3, 4, 9])
def test_mesh_on_a_line_sends_nothing_around(p: int) -> None:
    once = (p - 1) * (HOP_PS + 1000 * BYTE_PS)
    assert time_ps("mesh", "all_gather", mesh(p), 1000 * p) == once
    assert time_ps("mesh", "reduce_scatter", mesh(p), 1000 * p) == once
    assert time_ps("mesh", "all_reduce", mesh(p), 1000 * p) == 2 * once
    # A ring has to come back over all p - 1 links: every step waits for that message's hops.
    assert time_ps("ring", "all_gather", mesh(p), 1000 * p) > once


def test_mesh_goes_axis_by_axis_on_what_is_there() -> None:
    # 4 x 4, parts of 1000 bytes: 3 steps of one part, 3 of the four of a row.
    expected = 3 * (HOP_PS + 1000 * BYTE_PS) + 3 * (HOP_PS + 4000 * BYTE_PS)
    assert time_ps("mesh", "all_gather", mesh(4, 4), 16_000) == expected


def test_ring_on_a_torus_walks_over_neighbours_only() -> None:
    # 16 devices on a closed walk, one link a step, wherever they are: as on a ring.
    assert time_ps("ring", "all_gather", torus(4, 4), 16000) == 15 * (HOP_PS + 1000 * BYTE_PS)


def test_hierarchy_sends_a_group_share_over_the_slow_links() -> None:
    # 4 groups of 4; the switch inside takes 1 ns a byte, the one between 2. 16 000 bytes.
    # Inside: a + 3/4 n; between: a + 3/4 (n / 4) at half the rate; each twice.
    inside = HOP_PS + 12_000 * BYTE_PS
    between = HOP_PS + 3_000 * 2 * BYTE_PS
    assert time_ps("hierarchical", "all_reduce", groups(4, 4), 16_000) == 2 * (inside + between)


def test_permutation_and_single_send_take_one_message() -> None:
    one = HOP_PS + 1000 * BYTE_PS
    assert time_ps("shift", "send_recv", flat("ring", 5), 1000) == one
    assert time_ps("point to point", "send", flat("switch", 5), 1000) == one


def test_message_cost_holds_the_link_and_a_hop_more_adds_its_latency_only() -> None:
    fabric = Fabric((Level("link", "line", 4, 1e9, HOP_PS, message_ps=7000),))
    # The line's ends are three hops apart: cut-through, so the bytes count once.
    expected = 7000 + 1000 * BYTE_PS + 3 * HOP_PS
    assert time_ps("shift", "send_recv", fabric, 1000) == expected


def test_messages_in_flight_limit_the_rate() -> None:
    # One unacknowledged message: the next leaves a round trip after the one before.
    ring = Fabric((Level("link", "ring", 3, 1e9, HOP_PS, in_flight=1),))
    piece = 250 * BYTE_PS
    expected = 4 * piece + 3 * 2 * HOP_PS + 2 * HOP_PS  # the last acknowledgement ends the run
    assert time_ps("shift", "send_recv", ring, 1000, chunks=4) == expected
