"""One device that stands for all takes exactly as long as all of them simulated."""

from __future__ import annotations

import pytest
from fabrics import HOP_PS, flat, groups, level, torus
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from xpu_shark.simulator.collectives.lockstep import run_all
from xpu_shark.simulator.collectives.lower import foldable, lower
from xpu_shark.simulator.collectives.pieces import Job
from xpu_shark.simulator.collectives.registry import ALGORITHMS, Algorithm, by_name
from xpu_shark.simulator.engine import run
from xpu_shark.simulator.network import Fabric, Kind, Level
from xpu_shark.simulator.target import Memory
from xpu_shark.simulator.timeline import Timeline

MEMORY = Memory(name="hbm", bytes=2**30, bytes_per_s=3e9)  # slower than what a reduction needs
FABRICS = [
    *(flat("ring", p) for p in (2, 3, 8)),
    *(flat("switch", p) for p in (2, 5, 8, 12)),
    *(flat("full", p) for p in (2, 5, 8)),
    flat("ring_one_way", 6),
    torus(3, 4),
    torus(2, 4),
    torus(4, 4),
    torus(2, 3, 4),
    groups(4, 4),
    groups(3, 6),
]
LARGE = [flat("ring", 64), flat("switch", 64), torus(8, 8), torus(4, 4, 4), groups(8, 8)]
CASES = [
    pytest.param(algorithm, kind, id=f"{algorithm.name}-{kind}")
    for algorithm in ALGORITHMS
    for kind in algorithm.kinds
]


def both(
    algorithm: Algorithm, kind: str, fabric: Fabric, bytes: int, chunks: int = 1
) -> tuple[Timeline, Timeline] | None:
    """(one for all, every message of all); None where devices differ or it does not apply."""
    schedule = algorithm.build(kind, fabric)
    if schedule is None or not foldable(schedule, fabric):
        return None
    job = Job(bytes, chunks, MEMORY, launch_ps=10_000)
    one = run(lower(schedule, fabric, job, folded=True))
    return one, run(lower(schedule, fabric, job, folded=False), fold=False)


def same(one: Timeline, every: Timeline) -> None:
    """Same time, and each device's resources did what those of the one did."""
    assert one.time_ps == every.time_ps
    used = {use.name: (use.busy_ps, use.bytes) for use in one.resources}
    for use in every.resources:
        name = use.name.partition("@")[0]
        if name in used and not name.startswith("link.by"):  # peers differ by their number
            assert used[name] == (use.busy_ps, use.bytes), use.name


@pytest.mark.parametrize(("algorithm", "kind"), CASES)
def test_one_device_stands_for_all(algorithm: Algorithm, kind: str) -> None:
    for fabric in FABRICS:
        runs = both(algorithm, kind, fabric, 12_001, chunks=1 if fabric.devices > 8 else 3)
        if runs is not None:
            same(*runs)


def figures(timeline: Timeline) -> tuple[object, ...]:
    """Everything but the order of streams and resources."""
    streams = sorted(timeline.streams, key=lambda times: times.name)
    return timeline.time_ps, timeline.steps, streams, sorted(timeline.resources, key=str)


@pytest.mark.parametrize(("algorithm", "kind"), CASES)
def test_devices_in_step_have_the_engines_figures_to_the_last_stall(
    algorithm: Algorithm, kind: str
) -> None:
    for fabric in FABRICS:
        schedule = algorithm.build(kind, fabric)
        if schedule is None or not foldable(schedule, fabric):
            continue
        for job in (Job(12_001, 3, MEMORY, launch_ps=10_000), Job(777_777, 2)):
            every = run(lower(schedule, fabric, job, folded=False), fold=False)
            together = run_all(schedule, fabric, job)
            assert together is not None
            assert figures(together) == figures(every)


@st.composite
def fabrics(draw: st.DrawFn) -> Fabric:
    """One or two levels of any links: without latency, with costs a message, limits in flight."""
    levels = []
    for name in ("x", "y")[: draw(st.integers(1, 2))]:
        extent = draw(st.integers(2, 5))
        kinds: list[Kind] = ["switch", "full"] if extent == 2 else ["ring", "switch", "full"]
        levels.append(
            Level(
                name,
                draw(st.sampled_from(kinds)),
                extent,
                draw(st.sampled_from((5e8, 1e9, 3e9))),
                draw(st.sampled_from((0, 7, HOP_PS))),
                draw(st.sampled_from((0, 5000))),
                draw(st.sampled_from((0, 1, 2))),
            )
        )
    return Fabric(tuple(levels))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(ALGORITHMS),
    fabrics(),
    st.sampled_from((1, 97, 5000, 77_777)),
    st.integers(1, 5),
    st.sampled_from((None, MEMORY)),
    st.data(),
)
def test_one_for_all_all_in_step_and_the_engine_agree_on_any_fabric(
    algorithm: Algorithm,
    fabric: Fabric,
    bytes: int,
    chunks: int,
    memory: Memory | None,
    data: st.DataObject,
) -> None:
    kind = data.draw(st.sampled_from(algorithm.kinds))
    schedule = algorithm.build(kind, fabric)
    assume(schedule is not None and foldable(schedule, fabric))
    assert schedule is not None
    job = Job(bytes, chunks, memory, launch_ps=1000)
    every = run(lower(schedule, fabric, job, folded=False), fold=False)
    assert run(lower(schedule, fabric, job, folded=True)).time_ps == every.time_ps
    together = run_all(schedule, fabric, job)
    assert together is None or figures(together) == figures(every)


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "kind"), CASES)
@pytest.mark.parametrize("fabric", LARGE, ids=lambda f: "x".join(map(str, f.dims)))
def test_one_device_stands_for_64(algorithm: Algorithm, kind: str, fabric: Fabric) -> None:
    runs = both(algorithm, kind, fabric, 64_001)
    if runs is not None:
        same(*runs)


@pytest.mark.parametrize(("name", "fabric"), [("ring", LARGE[0]), ("halving", LARGE[1])])
def test_one_of_64_devices_stands_for_all(name: str, fabric: Fabric) -> None:
    runs = both(by_name(name), "all_reduce", fabric, 64_000)
    assert runs is not None
    same(*runs)


def test_every_symmetric_algorithm_folds_on_a_fabric_of_its_own() -> None:
    unlike = {
        a.name
        for a in ALGORITHMS
        for kind in a.kinds
        if not any((s := a.build(kind, f)) and foldable(s, f) for f in FABRICS)
    }
    assert unlike == {"mesh", "binomial tree", "double tree", "chain", "point to point"}


def test_line_and_slow_link_are_not_folded() -> None:
    ring = by_name("ring")
    line = Fabric((level("line", 4),))
    slow = Fabric((level("ring", 4),), slow={(2, "link.+"): 0.5})
    for fabric in (line, slow):
        schedule = ring.build("all_gather", fabric)
        assert schedule is not None
        assert not foldable(schedule, fabric)


def test_straggling_link_holds_up_the_whole_ring() -> None:
    slow = Fabric((level("ring", 4),), slow={(2, "link.+"): 0.5})
    schedule = by_name("ring").build("all_gather", slow)
    assert schedule is not None
    # Its three parts of 1000 bytes, 2 us each, one after another: each is there when it is due.
    time = run(lower(schedule, slow, Job(4000), folded=False)).time_ps
    assert time == 3 * 2_000_000 + HOP_PS


def test_512_devices_in_4_chunks_cost_one_device_a_few_steps() -> None:
    ring = Fabric((Level("link", "ring", 512, 50e9, HOP_PS),))
    schedule = by_name("ring").build("all_reduce", ring)
    assert schedule is not None
    timeline = run(lower(schedule, ring, Job(64 * 2**20, 4), folded=True))
    # A chunk of 32 KiB takes 655.36 ns, four of them more than one and the hop: all bytes, one hop.
    assert timeline.time_ps == 1022 * 4 * 655_360 + HOP_PS
    assert timeline.steps < 1000


def test_every_message_of_512_devices_takes_the_same_time() -> None:
    ring = Fabric((Level("link", "ring", 512, 50e9, HOP_PS),))
    schedule = by_name("ring").build("all_reduce", ring)
    assert schedule is not None
    timeline = run_all(schedule, ring, Job(64 * 2**20, 4))
    assert timeline is not None
    assert timeline.time_ps == 1022 * 4 * 655_360 + HOP_PS
    assert timeline.steps == 3 * 512 * 1022 * 4  # issue, send and store
    links = [use for use in timeline.resources if use.name.startswith("link.+")]
    assert len(links) == 512
    assert {use.bytes for use in links} == {1022 * 4 * 32 * 2**10}


def test_ring_of_16384_devices_folds() -> None:
    ring = Fabric((Level("link", "ring", 16384, 50e9, HOP_PS),))
    schedule = by_name("ring").build("all_reduce", ring)
    assert schedule is not None
    timeline = run(lower(schedule, ring, Job(2**30), folded=True))
    # 64 KiB a step: 1310.72 ns.
    assert timeline.time_ps == 2 * 16383 * (1_310_720 + HOP_PS)
    assert timeline.steps < 200
