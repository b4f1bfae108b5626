"""Folding changes the number of steps and nothing else."""

from __future__ import annotations

import random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import random_program

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
from xpu_shark.simulator.timeline import Timeline

SEEDS = st.integers(min_value=0, max_value=2**32)


def outcome(program: Program, *, fold: bool) -> Timeline | str:
    """The timeline without its step count, or why the program cannot move on."""
    try:
        return msgspec.structs.replace(run(program, fold=fold), steps=0)
    except ProgramError as error:
        return str(error)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(SEEDS)
def test_folded_run_equals_full_run_in_every_figure(seed: int) -> None:
    program = random_program(random.Random(seed))
    assert outcome(program, fold=True) == outcome(program, fold=False)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS)
def test_order_in_which_streams_are_listed_does_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    program = random_program(rng)
    shuffled = list(program.streams)
    rng.shuffle(shuffled)
    other = outcome(Program(tuple(shuffled), program.channels, program.resources), fold=True)
    first = outcome(program, fold=True)
    if isinstance(first, Timeline):
        assert isinstance(other, Timeline)
        assert sorted(other.streams, key=lambda s: s.name) == sorted(
            first.streams, key=lambda s: s.name
        )
        assert (other.time_ps, other.resources) == (first.time_ps, first.resources)
    else:
        assert other == first  # the same cycle, named from the same stream


@settings(max_examples=100, deadline=None, derandomize=True)
@given(SEEDS)
def test_busy_stalls_and_idle_add_up_for_every_stream(seed: int) -> None:
    result = outcome(random_program(random.Random(seed)), fold=True)
    if isinstance(result, str):
        return
    for stream in result.streams:
        assert stream.busy_ps + sum(stream.stalls_ps.values()) + stream.idle_ps == result.time_ps
        assert min((0, *stream.stalls_ps.values(), stream.idle_ps)) == 0
    for use in result.resources:
        assert use.busy_ps <= result.time_ps


def pipeline(trips: int, depth: int) -> Program:
    """Load (7), compute (10), both in one loop; `depth` buffers between them."""
    load = Instruction(0, 7, 2, waits=((1, 1),), posts=((0, 1),), bytes=64)
    compute = Instruction(1, 10, 0, waits=((0, 1),), posts=((1, 1),))
    return Program(
        (
            Stream("load", (Loop(trips, (load,), 0),)),
            Stream("compute", (Loop(trips, (compute,), 0),)),
        ),
        (Channel("full", "hbm"), Channel("free", "buffer", depth)),
        (Resource("hbm"), Resource("matrix")),
    )


def test_cost_of_a_periodic_loop_does_not_grow_with_its_trip_count() -> None:
    short, long = run(pipeline(1_000, 2)), run(pipeline(10**12, 2))
    assert long.steps <= short.steps + 2
    # The first result is visible at 7 + 2; from then on the unit never waits.
    assert long.time_ps == 9 + 10 * 10**12
    assert long.resources[0].bytes == 64 * 10**12


def test_single_buffer_makes_load_and_compute_take_turns() -> None:
    # 7 service + 2 latency + 10 compute each round, nothing overlaps.
    assert run(pipeline(1_000, 1)).time_ps == 19 * 1_000


def test_streams_that_nothing_couples_fold_apart() -> None:
    a = Stream("a", (Loop(10**9, (Instruction(0, 3),), 0),))
    b = Stream("b", (Loop(10**9, (Instruction(1, 7),), 0),))
    timeline = run(Program((a, b), (), (Resource("x"), Resource("y"))))
    assert timeline.time_ps == 7 * 10**9
    assert timeline.steps < 20
    assert timeline.streams[0].idle_ps == 4 * 10**9


def test_nested_loops_fold_at_every_level() -> None:
    inner = Loop(10**6, (Instruction(0, 5),), 1)
    program = Program(
        (Stream("s", (Loop(10**6, (inner, Instruction(0, 1)), 0),)),), (), (Resource("r"),)
    )
    timeline = run(program)
    assert timeline.time_ps == 10**6 * (5 * 10**6 + 1)
    assert timeline.steps < 100
