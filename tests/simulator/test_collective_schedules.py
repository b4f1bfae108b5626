"""Every schedule, executed on numbers, gives what the collective is defined to give."""

from __future__ import annotations

import numpy as np
import pytest
from collective_numbers import execute, expected, inputs
from fabrics import flat, groups, mesh, torus

from xpu_shark.simulator.collectives.axes import KINDS
from xpu_shark.simulator.collectives.registry import ALGORITHMS, Algorithm, by_name
from xpu_shark.simulator.collectives.schedule import Schedule, rounds
from xpu_shark.simulator.network import Fabric

CASES = [
    pytest.param(algorithm, kind, id=f"{algorithm.name}-{kind}")
    for algorithm in ALGORITHMS
    for kind in algorithm.kinds
    if kind != "send_recv"
]
GRIDS = [torus(3, 4), torus(2, 4), torus(2, 3, 4), torus(3, 3), groups(4, 4), groups(3, 5)]


def check(schedule: Schedule, kind: str, size: int, chunks: int = 1) -> None:
    data = inputs(schedule, kind, size)
    results, wanted = execute(schedule, kind, data, chunks), expected(kind, data)
    devices = {"reduce": [0], "send": [1], "recv": [1]}.get(kind, range(schedule.devices))
    for device in devices:
        np.testing.assert_array_equal(results[device], wanted[device])


@pytest.mark.parametrize(("algorithm", "kind"), CASES)
@pytest.mark.parametrize("devices", range(2, 18))
def test_schedule_on_numbers_gives_the_collective(
    algorithm: Algorithm, kind: str, devices: int
) -> None:
    schedule = algorithm.build(kind, flat("ring", devices))
    if schedule is None:
        only_some = ("ring both ways", "double tree", "hierarchical", "torus", "mesh")
        assert algorithm.name.startswith(only_some)
        return
    check(schedule, kind, size=1)
    check(schedule, kind, size=97, chunks=3)


@pytest.mark.parametrize(("algorithm", "kind"), CASES)
@pytest.mark.parametrize("fabric", GRIDS, ids=lambda f: "x".join(map(str, f.dims)))
def test_schedule_on_numbers_gives_the_collective_on_grids(
    algorithm: Algorithm, kind: str, fabric: Fabric
) -> None:
    schedule = algorithm.build(kind, fabric)
    if schedule is not None:
        check(schedule, kind, 97)
        check(schedule, kind, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dims", [(3,), (7,), (3, 4), (2, 5), (4, 4), (2, 3, 4)])
def test_mesh_on_numbers_gives_the_collective(kind: str, dims: tuple[int, ...]) -> None:
    schedule = by_name("mesh").build(kind, mesh(*dims))
    assert schedule is not None
    check(schedule, kind, 97)
    check(schedule, kind, 1, chunks=2)


def test_permutation_gives_every_device_its_neighbours_payload() -> None:
    schedule = by_name("shift").build("send_recv", flat("ring", 5))
    assert schedule is not None
    ((_, transfers),) = rounds(schedule.lanes[0])
    assert [(t.source, t.target, t.blocks) for t in transfers] == [
        (d, (d + 1) % 5, (d,)) for d in range(5)
    ]


def test_lone_device_sends_nothing() -> None:
    for algorithm in ALGORITHMS:
        for kind in algorithm.kinds:
            if algorithm.name in ("shift", "point to point"):
                continue  # a permutation of one device is nothing to send: see the choice
            schedule = algorithm.build(kind, flat("ring", 1))
            lanes = schedule.lanes if schedule else ()
            assert [t for lane in lanes for _, ts in rounds(lane) for t in ts] == []
