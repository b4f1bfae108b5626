"""Which links a message takes, how networks of target files become fabrics, and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from fabrics import flat, groups, level, torus

from xpu_shark.simulator.collectives.cycle import cycle
from xpu_shark.simulator.network import Fabric, NetworkError, fabric, grid
from xpu_shark.simulator.target import TARGETS, Network, Protocol, load


def hops(joined: Fabric, source: int, target: int) -> list[tuple[int, str]]:
    return [(link.owner, link.port) for link in joined.path(source, target)]


def test_ring_goes_the_shorter_way_round() -> None:
    ring = flat("ring", 5)
    assert hops(ring, 4, 1) == [(4, "link.+"), (0, "link.+")]
    assert hops(ring, 1, 4) == [(1, "link.-"), (0, "link.-")]
    assert hops(flat("ring_one_way", 5), 1, 0) == [(n, "link.+") for n in (1, 2, 3, 4)]
    assert hops(flat("line", 4), 3, 1) == [(3, "link.-"), (2, "link.-")]
    assert hops(ring, 2, 2) == []


def test_switch_and_peer_links() -> None:
    assert hops(flat("switch", 4), 1, 3) == [(1, "link.out"), (3, "link.in")]
    assert hops(flat("full", 4), 3, 1) == [(3, "link.by2")]


def test_torus_goes_axis_by_axis() -> None:
    # 3 x 4, first axis fastest: device 4 is (1, 1), device 11 is (2, 3).
    assert hops(torus(3, 4), 4, 11) == [(4, "x.+"), (5, "y.+"), (8, "y.+")]


def test_groups_cross_the_outer_level_after_the_inner_one() -> None:
    # Groups of 4: from device 1 of group 0 to device 2 of group 3.
    assert hops(groups(4, 4), 1, 14) == [
        (1, "in.out"),
        (2, "in.in"),
        (2, "out.out"),
        (14, "out.in"),
    ]


def test_every_path_ends_at_its_target_and_counts_the_message_once() -> None:
    for joined in (torus(3, 4), torus(2, 3, 4), groups(3, 5), flat("line", 6)):
        for source in range(joined.devices):
            for target in range(joined.devices):
                path = joined.path(source, target)
                assert bool(path) == (source != target)
                assert all(0 <= link.owner < joined.devices for link in path)
                assert all(link.message_ps == 0 for link in path[1:])


@pytest.mark.parametrize(
    ("devices", "dimensions", "shape"),
    [(8, 2, (2, 4)), (16, 2, (4, 4)), (64, 3, (4, 4, 4)), (12, 3, (2, 2, 3)), (7, 2, (1, 7))],
)
def test_grid_is_as_square_as_it_can_be(
    devices: int, dimensions: int, shape: tuple[int, ...]
) -> None:
    assert grid(devices, dimensions) == shape


@pytest.mark.parametrize(
    "joined", [torus(2, 4), torus(4, 3), torus(3, 4), torus(4, 4), torus(2, 3, 4), torus(3, 3, 2)]
)
def test_closed_walk_visits_every_device_over_single_links(joined: Fabric) -> None:
    walk = cycle(joined)
    assert walk is not None
    assert sorted(walk) == list(range(joined.devices))
    used = []
    for here, there in zip(walk, walk[1:] + walk[:1], strict=True):
        (link,) = joined.path(here, there)
        used.append((link.owner, link.port))
    assert len(set(used)) == joined.devices


def test_no_closed_walk_over_an_odd_grid_or_links_that_differ() -> None:
    assert cycle(torus(3, 3)) is None
    assert cycle(groups(4, 4)) is None
    assert cycle(Fabric((level("line", 4),))) is None


def test_links_are_shared_out_over_directions() -> None:
    # 4 links of 90 GB/s: one each way on each of two axes; 12 of 19.4 to a switch: 232.8.
    axes = fabric(_network("torus2d", links=4, bytes_per_s=90e9), 8).levels
    assert [(axis.extent, axis.bytes_per_s) for axis in axes] == [(2, 90e9), (4, 90e9)]
    (switch,) = fabric(_network("switch", links=12, bytes_per_s=19.4e9), 4).levels
    assert switch.bytes_per_s == pytest.approx(232.8e9)
    (ring,) = fabric(_network("ring", links=4, bytes_per_s=1e9), 4).levels
    assert ring.bytes_per_s == 2e9


def test_short_axes_are_open() -> None:
    network = _network("torus2d", links=4, bytes_per_s=1e9, wrap_from=4, shape=(3, 5))
    assert [axis.kind for axis in fabric(network, 15).levels] == ["line", "ring"]


def test_protocol_sends_less_data_at_its_own_latency() -> None:
    protocol = Protocol(name="flags", payload=0.5, latency_ns=3.0, message_ns=2.0)
    (joined,) = fabric(_network("switch", links=1, bytes_per_s=8e9), 4, protocol).levels
    assert (joined.bytes_per_s, joined.latency_ps, joined.message_ps) == (4e9, 3000, 2000)
    limited = Protocol(name="slow", latency_ns=1.0, bytes_per_s=1e9)
    (joined,) = fabric(_network("switch", links=1, bytes_per_s=8e9), 4, limited).levels
    assert joined.bytes_per_s == 1e9


def test_more_devices_than_the_network_joins_need_an_outer_one() -> None:
    outer = _network("switch", links=1, bytes_per_s=1e9)
    inner = _network("switch", links=2, bytes_per_s=4e9, devices=8, outer=outer)
    assert [(at.name, at.extent) for at in fabric(inner, 128).levels] == [
        ("link", 8),
        ("link.outer", 16),
    ]
    with pytest.raises(NetworkError, match=r"12 devices are not whole groups .* multiple of 8"):
        fabric(inner, 12)
    lone = _network("switch", links=2, bytes_per_s=4e9, devices=8)
    with pytest.raises(NetworkError, match=r"16 devices, but the network joins 8"):
        fabric(lone, 16)
    with pytest.raises(NetworkError, match=r"5 devices need 4 links each"):
        fabric(_network("full", links=3, bytes_per_s=1e9), 5)


def test_network_table_of_a_target_file_takes_the_optional_keys(tmp_path: Path) -> None:
    more = 'in_flight = 4\nwrap_from = 4\nalgorithms = { all_reduce = ["ring"] }\n'
    text = (TARGETS / "tiny.toml").read_text()
    path = tmp_path / "chip.toml"
    path.write_text(text.replace("[network]\n", f"[network]\n{more}"))
    network = load(str(path)).network
    assert network is not None
    assert (network.in_flight, network.algorithms) == (4, {"all_reduce": ("ring",)})


def _network(topology: str, **keys: object) -> Network:
    return Network(topology=topology, latency_ns=100.0, **keys)  # type: ignore[arg-type]
