"""The machine, counted by hand."""

from __future__ import annotations

import re

import pytest

from xpu_shark.simulator.engine import run
from xpu_shark.simulator.program import (
    Channel,
    Instruction,
    Loop,
    Program,
    ProgramError,
    Resource,
    Stream,
)


def test_service_then_latency_then_the_consumer_starts() -> None:
    # a: 0..5, visible at 5 + 3; b: 8..12.
    program = Program(
        (
            Stream("a", (Instruction(0, 5, 3, posts=((0, 1),)),)),
            Stream("b", (Instruction(1, 4, waits=((0, 1),)),)),
        ),
        (Channel("c", "hbm"),),
        (Resource("x"), Resource("y")),
    )
    timeline = run(program)
    assert timeline.time_ps == 12
    assert timeline.streams[1].stalls_ps == {"hbm": 8}
    assert timeline.streams[0].idle_ps == 7


def test_shared_resource_serves_first_come_first_served_and_ties_by_name() -> None:
    # Both ready at 0: a is served 0..5, b 5..9 and has waited 5 for the resource.
    streams = (Stream("b", (Instruction(0, 4),)), Stream("a", (Instruction(0, 5),)))
    timeline = run(Program(streams, (), (Resource("hbm"),)))
    assert timeline.streams[0].stalls_ps == {"hbm": 5}
    assert timeline.streams[1].stalls_ps == {}
    assert timeline.time_ps == 9


def test_last_credit_names_the_cause_of_a_wait() -> None:
    program = Program(
        (
            Stream("a", (Instruction(0, 5, posts=((0, 1),)),)),
            Stream("b", (Instruction(1, 9, posts=((1, 1),)),)),
            Stream("c", (Instruction(2, 1, waits=((0, 1), (1, 1))),)),
        ),
        (Channel("one", "hbm"), Channel("two", "matrix")),
        (Resource("x"), Resource("y"), Resource("z")),
    )
    assert run(program).streams[2].stalls_ps == {"matrix": 9}


def test_deadlock_names_streams_and_channels() -> None:
    program = Program(
        (
            Stream("load", (Instruction(0, 1, waits=((1, 1),), posts=((0, 1),)),)),
            Stream("matrix", (Instruction(1, 1, waits=((0, 1),), posts=((1, 1),)),)),
        ),
        (Channel("full", "hbm"), Channel("free", "buffer", 0)),
        (Resource("x"), Resource("y")),
    )
    expected = (
        "deadlock: load waits on free (has 0 of 1 credits), "
        "matrix waits on full (has 0 of 1 credits)"
    )
    with pytest.raises(ProgramError, match=re.escape(expected)):
        run(program)


def test_deadlock_names_the_cycle_and_not_who_waits_behind_it() -> None:
    program = Program(
        (
            Stream("a", (Instruction(0, 1, waits=((0, 1),)),)),
            Stream("b", (Instruction(1, 1, waits=((1, 2),), posts=((0, 1), (2, 1))),)),
            Stream("c", (Instruction(2, 1, waits=((2, 1),), posts=((1, 2),)),)),
        ),
        (Channel("ab", "hbm"), Channel("cb", "buffer", 1), Channel("bc", "matrix")),
        (Resource("x"), Resource("y"), Resource("z")),
    )
    expected = "deadlock: b waits on cb (has 1 of 2 credits), c waits on bc (has 0 of 1 credits)"
    with pytest.raises(ProgramError, match=re.escape(expected) + "$"):
        run(program)


def test_starved_stream_names_who_stopped_posting() -> None:
    post = Instruction(0, 1, posts=((0, 1),))
    wait = Instruction(1, 1, waits=((0, 1),))
    program = Program(
        (Stream("a", (post,)), Stream("b", (wait, wait))),
        (Channel("data", "hbm"),),
        (Resource("x"), Resource("y")),
    )
    with pytest.raises(ProgramError, match=r"b waits on data .*, which a has finished posting to"):
        run(program)


def test_deadlock_in_a_loop_of_any_length_is_found_at_once() -> None:
    # The reader wants one credit more than there will ever be: found after folding, not after
    # 10^12 iterations.
    data = ((0, 1),)
    program = Program(
        (
            Stream("a", (Loop(10**12, (Instruction(0, 1, posts=data),), 0),)),
            Stream("b", (Loop(10**12 + 1, (Instruction(1, 1, waits=data),), 0),)),
        ),
        (Channel("data", "hbm"),),
        (Resource("x"), Resource("y")),
    )
    with pytest.raises(ProgramError, match="b waits on data"):
        run(program)


def test_channel_with_two_consumers_is_refused() -> None:
    streams = tuple(Stream(n, (Instruction(0, 1, waits=((0, 1),)),)) for n in "ab")
    with pytest.raises(ProgramError, match="channel c has two consumers: a and b"):
        run(Program(streams, (Channel("c", "hbm", 2),), (Resource("x"),)))


def test_record_lists_every_instruction_as_it_ran() -> None:
    streams = (Stream("a", (Instruction(0, 5), Instruction(0, 2))),)
    events = run(Program(streams, (), (Resource("x"),)), record=True).events
    assert [(event.start_ps, event.end_ps) for event in events] == [(0, 5), (5, 7)]


def test_empty_program_takes_no_time() -> None:
    assert run(Program((), (), ())).time_ps == 0
