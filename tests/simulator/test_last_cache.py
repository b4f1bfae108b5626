"""What launches leave for each other in a last cache of 1 MiB, on the CPU of `hosts.py`."""

from __future__ import annotations

import msgspec
import pytest

from tests.simulator.hosts import HOST
from tests.simulator.kernels import elementwise
from xpu_shark.simulator import last_cache
from xpu_shark.simulator.evaluate import Settings, simulate
from xpu_shark.simulator.workload import (
    Command,
    Function,
    Kernel,
    Launch,
    Move,
    Place,
    Repeat,
    Span,
    Workload,
)

KIB = 1 << 10


def adding(name: str, kib: int) -> Kernel:
    """Reads one array of `kib` KiB of f32 and writes another."""
    kernel = elementwise(kib, KIB // 4, kind="add")
    read, written = kernel.nests[0].reads[0].tensor, kernel.nests[0].writes[0].tensor
    places = {read: Place(binding=0), written: Place(binding=1)}
    tensors = tuple(
        msgspec.structs.replace(tensor, place=places[number])
        for number, tensor in enumerate(kernel.tensors)
    )
    return msgspec.structs.replace(kernel, name=name, tensors=tensors)


def launch(kernel: str, kib: int, source: int, result: int) -> Launch:
    size = kib * KIB
    return Launch(
        kernel=kernel,
        spans=(
            Span(buffer=source, offset=0, bytes=size, access="read"),
            Span(buffer=result, offset=0, bytes=size, access="write"),
        ),
    )


def cached(*body: Command, kib: int = 300) -> list[dict[int, float]]:
    """What each launch finds of its tensors: 0 is what it reads, 1 what it writes."""
    found = last_cache.contexts(body, {"k": adding("k", kib)}, {}, HOST)
    return [dict(context.cached or ()) for _, context in sorted(found.items())]


def test_a_program_that_fits_finds_everything() -> None:
    # Three arrays of 300 KiB, over and over again.
    first, second = launch("k", 300, 0, 1), launch("k", 300, 1, 2)
    assert cached(first, second) == [{0: 1.0, 1: 1.0}] * 2


def test_what_lies_longer_back_than_the_cache_is_gone() -> None:
    # Thirteen arrays, 3900 KiB between two calls: what is written is there for the next reader.
    chain = [launch("k", 300, number, number + 1) for number in range(12)]
    assert cached(*chain) == [{}] + [{0: 1.0}] * 11


@pytest.mark.parametrize(
    ("turnover", "share"),
    [(0.5, 1.0), (1.0, 1.0), (1.2, 0.625), (1.5, 0.375), (2.0, 0.25), (4.0, 0.0)],
)
def test_of_more_than_a_cache_random_replacement_leaves_a_share(
    turnover: float, share: float
) -> None:
    # h = exp(-(1 - h) t): 0.686 of 1.2 times the cache, 0.417 of 1.5, 0.203 of 2; to eighths.
    assert last_cache.left(turnover) == share


def test_turns_of_a_loop_find_what_the_last_one_left() -> None:
    # Between two calls 4 MiB are filled, between two turns nothing.
    fill = Move(
        kind="fill",
        bytes=4 << 20,
        spans=(Span(buffer=9, offset=0, bytes=4 << 20, access="write"),),
    )
    loop = Repeat(trips=8, body=(launch("k", 300, 0, 1),))
    assert cached(fill, loop) == [{0: 1.0, 1: 1.0}]
    assert cached(fill, launch("k", 300, 0, 1)) == [{}]


def test_behind_a_command_that_may_touch_anything_nothing_is_known() -> None:
    assert cached(Move(kind="fill", bytes=64), launch("k", 300, 0, 1)) == [{}]


@pytest.mark.parametrize(("between", "level"), [(100, "l3"), (4000, "dram")])
def test_a_launch_takes_its_operands_from_where_they_are(between: int, level: str) -> None:
    body = (launch("k", 300, 0, 1), launch("b", between, 2, 3))
    kernels = (adding("k", 300), adding("b", between))
    workload = Workload(kernels=kernels, functions=(Function(name="f", body=body),))
    found = simulate(workload, Settings(target=HOST))
    (run,) = (item.run for item in found.dispatches if item.name == "k")
    assert run is not None
    other = "dram" if level == "l3" else "l3"
    assert run.bytes[level] >= 3 * 300 * KIB > 10 * run.bytes.get(other, 0)
