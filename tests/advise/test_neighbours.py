"""Neighbours are told by the bytes that pass between launches."""

from __future__ import annotations

from typing import Literal

import pytest
from cases import dispatch

from xpu_shark.passes.advise.neighbours import ALONE, Neighbours, neighbours
from xpu_shark.passes.advise.sequence import Sequence
from xpu_shark.simulator.workload import (
    Choice,
    Collective,
    Command,
    Function,
    Launch,
    Move,
    Repeat,
    Span,
)

Way = Literal["read", "write", "both"]


def span(offset: int, count: int, access: Way, *, transient: bool = True) -> Span:
    """`count` bytes of the one buffer that there is."""
    return Span(buffer=0, offset=offset, bytes=count, access=access, transient=transient)


def launch(name: str, *spans: Span) -> Launch:
    return Launch(kernel=name, spans=spans)


def near(name: str, *body: Command, idle: str = "") -> Neighbours:
    """Those of a dispatch of a function; `idle` is one without work."""
    steps = Sequence(Function(name="main", body=body), {}, {})
    return neighbours(steps, dispatch(name, None, ""), [dispatch(idle, None, "")] if idle else [])


MAKE = launch("make", span(0, 64, "write"))
ASIDE = launch("aside", span(64, 64, "write"))
USE = launch("use", span(0, 32, "read"), span(128, 8, "write"))


def test_a_reader_comes_before_a_maker_and_that_before_the_next_one() -> None:
    body = (MAKE, ASIDE, USE)
    assert near("make", *body) == Neighbours(readers=("use",), closest=("use",))
    assert near("aside", *body) == Neighbours(closest=("use",))
    assert near("use", *body) == Neighbours(closest=("make",))


def test_all_readers_of_a_result_are_named() -> None:
    other = launch("other", span(32, 32, "read"))
    assert near("make", MAKE, USE, other).readers == ("use", "other")
    assert near("make", MAKE, USE, other).most == 2
    # Each of two launches has a reader of its own.
    fill = Move(kind="fill", bytes=64, spans=(span(0, 64, "write"),))
    assert near("make", MAKE, USE, fill, MAKE, other) == Neighbours(
        readers=("use", "other"), closest=("use", "other")
    )


@pytest.mark.parametrize(
    "second",
    [
        launch("use", span(0, 32, "read", transient=False)),
        Move(kind="copy", bytes=4, spans=(span(0, 4, "read"), span(200, 4, "write"))),
        Repeat(trips=3, body=(launch("other", span(0, 4, "read")),)),
        Launch(kernel="anything"),
    ],
    ids=["outside", "a copy", "a loop", "who knows"],
)
def test_a_result_that_others_see_has_to_be_there(second: Command) -> None:
    first = MAKE
    if isinstance(second, Launch) and second.spans:
        first = launch("make", span(0, 64, "write", transient=False))
    assert near("make", first, USE, second).readers == ()


def test_what_the_next_turn_reads_has_to_be_there() -> None:
    assert near("make", Repeat(trips=3, body=(MAKE, USE))).readers == ("use",)
    before = launch("before", span(0, 8, "read"))
    assert near("make", Repeat(trips=3, body=(before, MAKE, USE))).readers == ()


def test_a_place_that_is_written_again_has_another_result() -> None:
    again, last = launch("again", span(0, 64, "write")), launch("last", span(0, 64, "read"))
    fill = Move(kind="fill", bytes=64, spans=(span(0, 64, "write"),))
    assert near("make", MAKE, USE, fill, last).readers == ("use",)
    # Of a launch without a kernel nobody knows whether it writes all of it.
    assert near("make", MAKE, USE, again, last).readers == ("use", "last")


def test_what_has_to_run_between_keeps_two_apart() -> None:
    between = Move(kind="copy", bytes=4, spans=(span(0, 4, "read"), span(4, 4, "write")))
    assert near("make", MAKE, between, USE).closest == ()
    reduced = Collective(kind="all_reduce", reduction="sum", element="f32", bytes=64)
    assert near("make", MAKE, ASIDE, reduced, USE).closest == ("aside",)
    assert near("use", MAKE, ASIDE, reduced, USE) == ALONE


def test_arms_of_a_branch_are_no_neighbours() -> None:
    branch = Choice(arms=((MAKE,), (ASIDE,)), name="main.branch0")
    assert near("make", branch) == ALONE


def test_a_launch_without_work_is_no_neighbour() -> None:
    body = (MAKE, launch("empty", span(200, 8, "write")))
    assert near("make", *body).closest == ("empty",)
    assert near("make", *body, idle="empty") == ALONE


def test_launches_of_one_dispatch_in_a_row_are_a_chain() -> None:
    links = [
        launch("link", span(64 * n, 64, "read"), span(64 * n + 64, 64, "write")) for n in range(4)
    ]
    assert near("link", *links) == Neighbours(chain=4)
    wait = Collective(kind="all_reduce", reduction="sum", element="f32", bytes=64)
    assert near("link", *links[:2], wait, *links[2:]) == Neighbours(chain=2)
