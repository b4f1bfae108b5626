"""Groups of some of the devices: whose links they take, and which groups there cannot be."""

from __future__ import annotations

import msgspec
import pytest
from fabrics import BYTE_PS, HOP_PS, flat, groups, level, torus
from hypothesis import given, settings
from hypothesis import strategies as st
from test_collective_choice import chip, network

from xpu_shark.simulator import commands
from xpu_shark.simulator.collectives.bound import bound_ps
from xpu_shark.simulator.collectives.candidates import Team, candidates, simulate
from xpu_shark.simulator.collectives.choose import choose
from xpu_shark.simulator.collectives.groups import Groups, isolated
from xpu_shark.simulator.collectives.lower import foldable, lower, lower_all
from xpu_shark.simulator.collectives.pieces import Job
from xpu_shark.simulator.collectives.registry import ALGORITHMS
from xpu_shark.simulator.commands import CommandRun
from xpu_shark.simulator.engine import run
from xpu_shark.simulator.evaluate import Settings
from xpu_shark.simulator.network import Fabric, NetworkError, Slow, slowed
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.workload import Collective

LINE = Fabric((level("line", 4),))
ALONE: list[tuple[Fabric, Groups, tuple[tuple[str, int], ...]]] = [
    (flat("switch", 8), ((0, 3, 5, 6), (1, 2, 4, 7)), (("switch", 4),)),
    (flat("full", 6), ((0, 2, 4), (1, 3, 5)), (("full", 3),)),
    (flat("ring", 8), ((0, 1, 2, 3), (4, 5, 6, 7)), (("line", 4),)),
    (flat("ring", 8), ((2, 3), (6, 7)), (("full", 2),)),
    (torus(4, 3), ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11)), (("ring", 4),)),
    (torus(4, 3), ((0, 4, 8), (1, 5, 9), (2, 6, 10), (3, 7, 11)), (("ring", 3),)),
    (groups(4, 3), ((0, 4, 8), (1, 5, 9), (2, 6, 10), (3, 7, 11)), (("switch", 3),)),
    (groups(4, 3), ((0, 1, 2, 3), (4, 5, 6, 7)), (("switch", 4),)),
    (torus(2, 4), ((0, 1, 2, 3), (4, 5, 6, 7)), (("full", 2), ("full", 2))),
]
MEET: list[tuple[Fabric, Groups]] = [
    (LINE, ((0, 2), (1, 3))),
    (flat("ring", 4), ((0, 1, 2),)),  # 2 to 0 is as short by way of 3
    (flat("ring", 8), ((0, 2, 4, 6), (1, 3, 5, 7))),
    (flat("ring_one_way", 4), ((0, 1), (2, 3))),
    (torus(4, 4), ((0, 5, 10, 15), (1, 6, 11, 12))),
    (flat("switch", 5), ((0, 1, 2), (3, 4))),
]


@pytest.mark.parametrize(("whole", "teams", "levels"), ALONE)
def test_group_with_links_of_its_own_stands_for_all(
    whole: Fabric, teams: Groups, levels: tuple[tuple[str, int], ...]
) -> None:
    alone = isolated(whole, teams)
    assert alone is not None
    assert tuple((at.kind, at.extent) for at in alone.levels) == levels
    for algorithm in ALGORITHMS:
        kind = algorithm.kinds[0]
        schedule = algorithm.build(kind, alone)
        if schedule is None or kind in ("send", "send_recv"):
            continue
        order = schedule.order or tuple(range(schedule.devices))
        placed = [
            msgspec.structs.replace(
                schedule, order=tuple(sorted(team)[n] for n in order), disjoint=False
            )
            for team in teams
        ]
        one = lower(schedule, alone, Job(7001, 2), folded=foldable(schedule, alone))
        assert run(one).time_ps == run(lower_all(placed, whole, Job(7001, 2))).time_ps


@pytest.mark.parametrize(("whole", "teams"), MEET)
def test_groups_that_differ_or_could_meet_are_all_simulated(whole: Fabric, teams: Groups) -> None:
    assert isolated(whole, teams) is None


def test_groups_meet_on_the_links_between() -> None:
    # 0 and 2, 1 and 3 of a line exchange 500 bytes (t). The link from 1 to 2 serves device 1's
    # message for t, then that of device 0, which has waited there since one hop: 2 t + a.
    network_of_four = chip(network("torus2d", links=4, shape=(1, 4), wrap_from=9))
    time = gather(network_of_four, Team(4, ((0, 2), (1, 3))))
    assert time == 2 * 500 * BYTE_PS + HOP_PS
    # Neighbours have a link each: t + a.
    assert gather(network_of_four, Team(4, ((0, 1), (2, 3)))) == 500 * BYTE_PS + HOP_PS


def gather(target: Target, team: Team) -> int:
    """All-gather of 1000 bytes straight to each other, where memory takes no time."""
    assert target.network is not None
    (direct,) = [c for c in candidates(target.network, "all_gather", 1000, team, ("direct",), 1000)]
    job = Job(1000)
    if direct.folded:
        return run(lower(direct.schedules[0], direct.fabric, job, folded=True)).time_ps
    return run(lower_all(direct.schedules, direct.fabric, job)).time_ps


def test_uneven_groups_take_as_long_as_the_slowest() -> None:
    target = chip(network("switch", links=1, algorithms={"all_reduce": ("ring",)}))
    three = choose(target, "all_reduce", 30_000, 3)
    uneven = choose(target, "all_reduce", 30_000, Team(5, ((0, 1, 2), (3, 4))))
    assert uneven.timeline.time_ps == three.timeline.time_ps
    assert choose(target, "all_reduce", 30_000, Team(4, ((0, 1, 2), (3,)))).timeline.time_ps == (
        three.timeline.time_ps
    )


def command(target: Target, teams: Groups, devices: int = 1, bytes: int = 64) -> CommandRun:
    item = Collective(
        kind="all_reduce",
        reduction="sum",
        element="f32",
        bytes=bytes,
        group=max(map(len, teams)),
        groups=teams,
    )
    return commands.simulate(item, bytes, Settings(target, devices=devices))


@pytest.mark.parametrize(
    ("teams", "devices", "reason"),
    [
        (
            ((0, 4), (1, 5)),
            4,
            "group [0, 4] names device 4, but the devices are 0 to 3: give --xpu-devices=6 or more",
        ),
        (((0, 1), (1, 2)), 4, "group [1, 2] names device 1 as [0, 1] does"),
        (((0, 0),), 4, "group [0, 0] names device 0 twice"),
    ],
)
def test_groups_that_cannot_be_are_named(teams: Groups, devices: int, reason: str) -> None:
    done = command(chip(network("ring", links=2)), teams, devices)
    assert (done.time_ps, done.reason) == (None, reason)


def test_devices_in_no_group_take_no_part() -> None:
    target = chip(network("ring", links=2))
    some = command(target, ((0, 1), (2, 3)), devices=8)
    assert some.time_ps == command(target, ((0, 1), (2, 3))).time_ps
    assert some.group == 2
    assert command(target, ((0,), (1,))).reason == "no work"


def test_ranks_of_a_group_say_who_sends_to_whom() -> None:
    target = chip(network("ring", links=2, algorithms={}))
    near, far = (
        choose(target, "send_recv", 64_000, Team(8, (team,)), ((0, 1),)).timeline.time_ps
        for team in ((3, 4), (3, 6))
    )
    assert far - near == 2 * HOP_PS  # three hops in place of one


def test_slow_link_is_that_of_the_devices_named() -> None:
    ring = slowed(flat("ring", 6), (Slow((3, 4), 0.5),))
    assert ring.slow == {(3, "link.+"): 0.5, (4, "link.-"): 0.5}
    switch = slowed(flat("switch", 4), (Slow((2,), 0.25),))
    assert switch.slow == {(2, "link.out"): 0.25, (2, "link.in"): 0.25}
    assert switch.slow_memory == {2: 0.25}
    (link,) = ring.path(3, 4)
    assert link.bytes_per_s == 5e8
    for slow, message in [
        (Slow((2, 9), 0.5), "slow link 2-9:0.5: no device 9, they are 0 to 5"),
        (Slow((0, 2), 0.5), "slow link 0-2:0.5: no link joins devices 0 and 2 alone"),
    ]:
        with pytest.raises(NetworkError, match=message):
            slowed(flat("ring", 6), (slow,))


def test_one_slow_link_sets_the_pace_of_a_ring_and_of_no_group_beside_it() -> None:
    target = chip(network("ring", links=2, algorithms={"all_gather": ("ring",)}))
    n = 8000
    whole = choose(target, "all_gather", n, Team(8, (), (Slow((3, 4), 0.5),)))
    fast = choose(target, "all_gather", n, 8)
    assert whole.candidate.folded is False
    # Seven parts of 1000 bytes pass the link, 2 us each and not 1.
    assert whole.timeline.time_ps >= 7 * 2 * 1000 * BYTE_PS
    assert whole.timeline.time_ps > fast.timeline.time_ps
    halves = ((0, 1, 2, 3), (4, 5, 6, 7))
    beside = choose(target, "all_gather", n, Team(8, halves, (Slow((3, 4), 0.5),)))
    assert (
        beside.timeline.time_ps == choose(target, "all_gather", n, Team(8, halves)).timeline.time_ps
    )


KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce")
TOPOLOGIES = ("ring", "ring_one_way", "torus2d", "torus3d", "switch", "full")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(TOPOLOGIES),
    st.integers(1, 13),
    st.sampled_from((0, 1, 2, 97, 4099, 300_007)),
    st.sampled_from((1, 4, 99)),
    st.data(),
)
def test_any_groups_end_at_or_above_their_bound(
    kind: str, topology: str, devices: int, bytes: int, wrap_from: int, data: st.DataObject
) -> None:
    target = chip(network(topology, links=12, wrap_from=wrap_from))
    colors = data.draw(st.lists(st.integers(-1, 3), min_size=devices, max_size=devices))
    teams = tuple(
        tuple(device for device in range(devices) if colors[device] == color)
        for color in range(4)
        if color in colors
    )
    item = Collective(
        kind=kind,
        reduction="sum",
        element="i8",
        bytes=bytes,
        group=max(map(len, teams), default=0),
        groups=teams,
    )
    done = commands.simulate(item, bytes, Settings(target, devices=devices))
    if not teams and devices < 2:
        assert done.reason.startswith("group size not known")
    elif bytes == 0 or done.group < 2:
        assert (done.time_ps, done.reason) == (0, "no work")
    else:
        assert done.time_ps is not None, done.reason
        assert done.bound_ps is not None
        assert done.time_ps >= done.bound_ps
        assert done == commands.simulate(item, bytes, Settings(target, devices=devices))


def test_chunks_longer_than_the_message_and_prime_groups_on_tori() -> None:
    target = chip(network("torus2d", links=4))
    for group in (5, 7, 11, 13):
        for kind in KINDS:
            done = choose(target, kind, 3, group)  # fewer bytes than devices, or than chunks
            assert done.timeline.time_ps >= bound_ps(done.candidate.fabric, kind, 3)
    (ring, *_) = candidates(network("ring", links=2), "all_reduce", 1, 4, ("ring",))
    many = msgspec.structs.replace(ring, chunks=32)
    assert simulate(many, target, 1).timeline.time_ps >= simulate(ring, target, 1).timeline.time_ps


@pytest.mark.parametrize(
    ("devices", "group", "reason"),
    [
        (1, 3, ""),  # nobody says how many: those that the pairs name
        (4, 4, ""),
        (2, 2, "rank 1 sends to rank 2, but the ranks are 0 to 1: give --xpu-devices=3 or more"),
    ],
)
def test_a_permutation_has_the_ranks_that_it_names(devices: int, group: int, reason: str) -> None:
    pairs = ((0, 1), (1, 2), (2, 0))
    item = Collective(kind="send_recv", reduction="", element="f32", bytes=4000, pairs=pairs)
    done = commands.simulate(item, 4000, Settings(chip(network("ring", links=2)), devices=devices))
    assert (done.group, done.reason) == (group, reason)
