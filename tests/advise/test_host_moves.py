"""What copies and fills of the host program are for."""

from __future__ import annotations

from typing import Literal

import pytest

from xpu_shark.passes.advise.host_moves import reason_of
from xpu_shark.passes.advise.sequence import Sequence
from xpu_shark.simulator.workload import Command, Function, Launch, Move, Repeat, Span

Way = Literal["read", "write", "both"]


def own(access: Way, buffer: int = 0, count: int = 64) -> Span:
    """The first bytes of an allocation."""
    return Span(buffer=buffer, offset=0, bytes=count, access=access, transient=True)


def given(access: Way, buffer: int = 9) -> Span:
    return Span(buffer=buffer, offset=0, bytes=64, access=access)


def carried() -> Span:
    return Span(buffer=9, offset=0, bytes=64, access="read", carried=True)


def staged() -> Span:
    return Span(buffer=8, offset=0, bytes=64, access="write", host=True)


def launch(name: str, *spans: Span) -> Launch:
    return Launch(kernel=name, spans=spans)


def copy(source: Span, target: Span) -> Move:
    return Move(kind="copy", bytes=64, spans=(source, target))


FILL = Move(kind="fill", bytes=64, spans=(own("write"),))


def reasons(*body: Command) -> list[str]:
    """What would do without each move of a function."""
    steps = Sequence(Function(name="main", body=body), {}, {})
    moves = [n for n, step in enumerate(steps.steps) if isinstance(step.command, Move)]
    found = (reason_of(steps, number) for number in moves)
    return [reason.suggestion for reason in found if reason is not None]


def test_what_is_only_read_needs_no_copy() -> None:
    use = launch("use", own("read"))
    assert reasons(copy(given("read"), own("write")), use) == ["read in place by use"]
    looped = Repeat(trips=4, body=(copy(carried(), own("write")), use))
    assert reasons(looped) == [
        "read in place by use (or several turns of the loop in one: one copy for all)"
    ]


def test_a_source_that_changes_before_the_reader_is_copied_for_that() -> None:
    change = launch("change", given("write"))
    assert reasons(copy(given("read"), own("write")), change, launch("use", own("read"))) == []


def test_a_state_that_a_turn_changes_in_part_is_changed_in_place() -> None:
    change, use = launch("change", own("both", count=4)), launch("use", own("read"))
    [found] = reasons(Repeat(trips=4, body=(copy(carried(), own("write")), change, use)))
    assert found.startswith("changed in place by change")
    # An argument or a constant is the caller's: it stays as it is.
    assert reasons(copy(given("read"), own("write")), change, use) == []
    # A copy whose place another result has later is one to read.
    again = launch("again", own("write", count=4))
    body = (copy(carried(), own("write")), use, again)
    assert reasons(Repeat(trips=4, body=body))[0].startswith("read in place by use")


def test_a_result_is_written_where_it_is_needed() -> None:
    make = launch("make", own("write"))
    assert reasons(make, copy(own("read"), given("write"))) == ["written there by make itself"]
    assert reasons(copy(own("read"), given("write"))) == []


def test_a_value_for_the_host_is_one_it_could_know() -> None:
    [found] = reasons(launch("make", own("write")), copy(own("read"), staged()))
    assert found.startswith("a value that the host knows itself")


@pytest.mark.parametrize(
    ("behind", "instead"),
    [
        ([launch("use", own("read"))], ["the constant in use itself"]),
        (
            [launch("inner", own("write", count=32)), launch("use", own("read"))],
            ["padding in the loads of what reads it"],
        ),
        ([launch("add", own("both"))], []),  # sums into it
        ([], []),
    ],
)
def test_a_fill_is_a_constant_a_border_or_a_start(
    behind: list[Command], instead: list[str]
) -> None:
    assert reasons(FILL, *behind) == instead
