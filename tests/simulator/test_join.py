"""Joining loops changes how many levels there are and nothing that a run shows."""

from __future__ import annotations

import random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import random_program

from xpu_shark.simulator.engine import run
from xpu_shark.simulator.join import join_loops
from xpu_shark.simulator.program import Instruction, Loop, Program, ProgramError, Stream

WORK, REST = Instruction(0, 5), Instruction(0, 1)


def test_loops_with_nothing_between_them_become_one() -> None:
    nest = Loop(3, (Loop(4, (Loop(5, (WORK,), 2),), 1),), 0)
    (joined,) = join_loops([Stream("a", (nest,))])
    (loop,) = joined.body
    assert isinstance(loop, Loop)
    assert (loop.count, loop.body) == (60, (WORK,))


def test_loop_with_something_beside_it_stays() -> None:
    stream = Stream("a", (Loop(3, (Loop(4, (WORK,), 1), REST), 0),))
    assert join_loops([stream]) == (stream,)


def test_loops_stay_where_another_stream_has_something_between_them() -> None:
    plain = Stream("a", (Loop(3, (Loop(4, (WORK,), 1),), 0),))
    other = Stream("b", (Loop(3, (REST, Loop(4, (WORK,), 1)), 0),))
    outer_only = Stream("c", (Loop(3, (REST,), 0),))
    assert join_loops([plain, other]) == (plain, other)
    assert join_loops([plain, outer_only]) == (plain, outer_only)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(min_value=0, max_value=2**32))
def test_joined_program_runs_alike(seed: int) -> None:
    program = random_program(random.Random(seed), most_streams=3)
    joined = msgspec.structs.replace(program, streams=join_loops(program.streams))
    assert figures(joined) == figures(program)


def figures(program: Program) -> object:
    try:
        return msgspec.structs.replace(run(program), steps=0)
    except ProgramError as error:
        return str(error)
