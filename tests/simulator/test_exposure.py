"""Exposed and hidden time of collectives in whole functions, against sums by hand."""

from __future__ import annotations

import pytest
from kernels import matmul

from xpu_shark.simulator.evaluate import Settings, simulate
from xpu_shark.simulator.exposure import Exposure
from xpu_shark.simulator.result import Report
from xpu_shark.simulator.symbolic import symbol
from xpu_shark.simulator.target import load
from xpu_shark.simulator.workload import (
    Choice,
    Collective,
    Command,
    Concurrent,
    Function,
    Launch,
    Move,
    Repeat,
    Span,
    Workload,
)

TINY = load("tiny")
SMALL = matmul(4, 4, 4, tiles=(4, 4, 4))
PS = 129_000  # of one launch: counted in test_lower.py


def span(buffer: int, access: str) -> Span:
    way = "read" if access == "read" else "write"
    return Span(buffer=buffer, offset=0, bytes=64, access=way, transient=True)  # type: ignore[arg-type]


def launch(reads: int, writes: int) -> Launch:
    return Launch(kernel="matmul", spans=(span(reads, "read"), span(writes, "write")))


def gather(reads: int, writes: int, group: int = 2, size: int = 128) -> Collective:
    return Collective(
        kind="all_gather",
        reduction="",
        element="f32",
        bytes=size,
        group=group,
        spans=(span(reads, "read"), span(writes, "write")),
        location="m.mlir:7:3",
    )


def report(*body: Command, devices: int = 1) -> Report:
    workload = Workload(kernels=(SMALL,), functions=(Function(name="main", body=body),))
    return simulate(workload, Settings(TINY, devices=devices))


def only(done: Report) -> tuple[int, Exposure]:
    """Time of one collective, and what is exposed of all."""
    [item] = [each for each in done.commands if each.exposure is not None]
    assert item.time_ps is not None
    assert item.exposure is not None
    return item.time_ps, item.exposure


def test_in_a_serial_order_everything_is_exposed() -> None:
    done = report(launch(0, 1), launch(1, 2), gather(1, 3), launch(3, 4))
    time, found = only(done)
    assert (found.exposed_ps, found.hidden_ps) == (time, 0)
    assert PS < time  # longer than the launch that it could run beside
    assert found.async_exposed_ps == time - PS
    assert done.functions[0].exposed_ps == time
    assert done.functions[0].time_ps == 3 * PS + time


def test_its_place_in_the_graph() -> None:
    _, found = only(report(launch(0, 1), launch(1, 2), gather(1, 3), launch(3, 4)))
    assert found.waits_for == ("matmul",)
    assert found.needed_by == ("matmul",)
    assert found.beside == ("matmul",)


def test_a_concurrent_region_hides_what_passes_beside_it() -> None:
    time, found = only(report(launch(0, 1), Concurrent(body=(launch(1, 2), gather(1, 3)))))
    assert (found.exposed_ps, found.hidden_ps) == (time - PS, PS)


def test_a_loop_counts_its_body_and_nothing_leaves_it() -> None:
    body = (launch(0, 1), launch(1, 2), gather(1, 3))
    time, found = only(report(launch(5, 6), Repeat(trips=3, body=body), launch(5, 6)))
    assert found.exposed_ps == 3 * time
    assert found.async_exposed_ps == 3 * (time - PS)


def test_a_branch_counts_the_arm_that_is_taken() -> None:
    done = report(Choice(arms=((launch(0, 1), gather(1, 2)), ()), name="main.branch0"))
    time, found = only(done)
    assert found.exposed_ps == time


def test_transfers_count_like_collectives() -> None:
    moved = Move(kind="transfer", bytes=64, spans=(span(0, "read"), span(1, "write")))
    time, found = only(report(moved, launch(2, 3)))
    assert (found.exposed_ps, found.async_exposed_ps) == (time, time - PS)


def test_without_communication_there_is_nothing_to_say() -> None:
    done = report(launch(0, 1), Move(kind="copy", bytes=64))
    assert done.functions[0].exposed_ps is None
    assert done.functions[0].blocks == ()
    assert all(each.exposure is None for each in done.commands)


@pytest.mark.parametrize(
    ("item", "time"),
    [
        (gather(0, 1, group=0), None),  # nobody says how many devices
        (gather(0, 1, size=0), 0),
        (gather(0, 1, group=1), 0),
        (Collective(kind="unheard_of", reduction="", element="f32", bytes=64, group=2), None),
    ],
)
def test_what_takes_no_time_or_has_none(item: Collective, time: int | None) -> None:
    done = report(launch(0, 1), item, launch(1, 2))
    [found] = done.commands
    assert found.time_ps == time
    assert found.exposure is not None
    assert found.exposure.exposed_ps == 0
    assert done.functions[0].exposed_ps == time


def test_a_size_that_is_missing_leaves_no_total() -> None:
    item = Collective(
        kind="all_gather", reduction="", element="f32", bytes=symbol("input0.0"), group=2
    )
    done = report(launch(0, 1), item)
    assert done.functions[0].exposed_ps is None
    assert done.functions[0].blocks == ()
