"""Recorded launches are put where the program has them."""

from __future__ import annotations

from xpu_shark.simulator import follow_program
from xpu_shark.simulator.recording import Event
from xpu_shark.simulator.symbolic import Expr, symbol
from xpu_shark.simulator.workload import (
    Choice,
    Command,
    Concurrent,
    Launch,
    Move,
    Repeat,
    Span,
)


def ran(*launches: tuple[str, int] | str) -> list[Event]:
    """Dispatches by kernel, or kernel and first constant."""
    pairs = [(each, None) if isinstance(each, str) else each for each in launches]
    return [
        Event(what="dispatch", kernel=name, constants=() if value is None else (value,))
        for name, value in pairs
    ]


def site(kernel: str, *constants: int | Expr, spans: tuple[Span, ...] = ()) -> Launch:
    return Launch(kernel=kernel, constants=constants, spans=spans, location=f"{kernel}:1:1")


def loop(*body: Command) -> Repeat:
    return Repeat(trips=symbol("f.loop0"), name="f.loop0", body=body)


def follow(
    program: tuple[Command, ...], events: list[Event], needs: tuple[str, ...] = ("constant0",)
) -> tuple[Command, ...] | None:
    """Of a program whose kernel `b` depends on `needs`, the others on their first constant."""
    sizes = {"a": ("constant0",), "b": needs}
    return follow_program.follow(program, events, sizes)


def test_a_loop_turns_while_its_first_launch_comes() -> None:
    program = (site("a"), loop(site("b"), site("c")), site("d"))
    found = follow(program, ran("a", "b", "c", "b", "c", "d"))
    assert found == (site("a"), Repeat(trips=2, body=(site("b"), site("c"))), site("d"))


def test_a_loop_that_never_turned_is_gone() -> None:
    assert follow((site("a"), loop(site("b"))), ran("a")) == (site("a"),)


def test_turns_of_other_sizes_are_told_apart() -> None:
    program = (loop(site("b", symbol("f.iv0"))),)
    found = follow(program, ran(("b", 1), ("b", 1), ("b", 2)))
    assert found == (
        Repeat(trips=2, body=(site("b", 1),)),
        Repeat(trips=1, body=(site("b", 2),)),
    )


def test_turns_that_differ_in_no_size_are_alike() -> None:
    turn, found, rows = symbol("f.iv0"), symbol("f.value0"), symbol("input0.0")
    program = (loop(site("b", turn), site("b", Expr("min", (found, 7))), site("b", rows)),)
    events = ran(("b", 0), ("b", 5), ("b", 33), ("b", 1), ("b", 6), ("b", 33))
    body = (site("b", turn), site("b", Expr("min", (found, 7))), site("b", 33))
    assert follow(program, events, needs=()) == (Repeat(trips=2, body=body),)


def test_a_branch_takes_the_arm_whose_launch_comes() -> None:
    program = (Choice(arms=((site("b"),), (site("c"),), ()), name="f.branch0"), site("d"))
    assert follow(program, ran("c", "d")) == (Repeat(trips=1, body=(site("c"),)), site("d"))
    assert follow(program, ran("d")) == (Repeat(trips=1, body=()), site("d"))


def test_arms_that_nothing_tells_apart_are_not_guessed() -> None:
    either = Choice(arms=((Move(kind="fill", bytes=4),), ()), name="f.branch0")
    assert follow((either, site("d")), ran("d")) is None


def test_sizes_of_buffers_and_moves_come_from_the_launches() -> None:
    size = symbol("input0.0")
    bytes_ = Expr("mul", (size, 4))
    span = Span(buffer=0, offset=0, bytes=bytes_, access="read")
    program = (Concurrent(body=(Move(kind="fill", bytes=bytes_), site("a", size, spans=(span,)))),)
    found = follow(program, ran(("a", 33)))
    assert found is not None
    (group,) = found
    assert isinstance(group, Concurrent)
    move, launch = group.body
    assert isinstance(move, Move)
    assert isinstance(launch, Launch)
    assert (move.bytes, launch.spans[0].bytes) == (132, 132)


def test_launches_in_another_order_or_of_another_size_are_not_followed() -> None:
    program = (site("a", 8), site("b"))
    assert follow(program, ran("b", ("a", 8))) is None
    assert follow(program, ran(("a", 9), "b")) is None
    assert follow(program, ran(("a", 8))) is None
    assert follow(program, ran(("a", 8), "b", "b")) is None
