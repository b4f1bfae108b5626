"""Identical devices: one stands for all, or all are simulated; both give the same figures."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import random_program

from xpu_shark.simulator.devices import replicate, run_devices, stands_for_all
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


def exchange(steps: int, service: int = 10, latency: int = 100) -> Program:
    """Each step sends a part over the link and stores the part that came from the neighbour."""
    send = Instruction(0, service, latency, waits=((1, 1),), posts=((0, 1),), bytes=10)
    store = Instruction(1, 4, waits=((0, 1),), posts=((1, 1),), bytes=10)
    return Program(
        (Stream("link", (Loop(steps, (send,), 0),)), Stream("store", (Loop(steps, (store,), 0),))),
        (Channel("arrived", "link"), Channel("stored", "hbm", 1)),
        (Resource("link"), Resource("hbm")),
    )


def shift(count: int, by: int = 1) -> list[int]:
    return [(device + by) % count for device in range(count)]


def figures(timelines: list[Timeline]) -> list[Timeline]:
    return [msgspec.structs.replace(timeline, steps=0) for timeline in timelines]


def test_two_devices_send_to_each_other() -> None:
    # One message of 10 bytes: on the link 0..10, there at 110, stored 110..114.
    for fold in (True, False):
        first, second = run_devices(exchange(1), 2, {0: shift(2)}, fold=fold)
        assert first.time_ps == second.time_ps == 114
        assert first.streams[1].stalls_ps == {"link": 110}
    # Two: the second may start when the first part is stored: 114..124, 224, 228.
    assert run_devices(exchange(2), 2, {0: shift(2)})[0].time_ps == 228


def test_devices_of_a_ring_of_any_size_take_the_same_time() -> None:
    alone = run(exchange(12))
    for count in (2, 3, 8):
        timelines = run_devices(exchange(12), count, {0: shift(count)}, fold=False)
        assert figures(timelines) == figures([alone] * count)


def test_message_that_takes_no_time_is_simulated_on_all_devices() -> None:
    program = exchange(3, service=0, latency=0)
    assert not stands_for_all(program, {0: shift(2)})
    assert len(run_devices(program, 2, {0: shift(2)})) == 2


def test_link_that_is_no_permutation_is_refused() -> None:
    with pytest.raises(ValueError, match="link arrived: expected a permutation of 2 devices"):
        run_devices(exchange(1), 2, {0: [0, 0]})


def test_copies_keep_channels_inside_unless_they_are_links() -> None:
    whole = replicate(exchange(1), 3, {0: shift(3)})
    # Device 0 posts "arrived" of its own; device 1 waits for it, as device 0 sends to it.
    waits = [dict(stream.body[0].body[0].waits) for stream in whole.streams[1::2]]  # type: ignore[union-attr]
    assert [list(wait) for wait in waits] == [[4], [0], [2]]


def test_streams_of_a_device_keep_their_order_of_names() -> None:
    # Both are ready at 0 on one memory: "s1" goes first, alone and as a copy, though "s10@0"
    # would sort before "s1@0".
    streams = tuple(Stream(name, (Instruction(0, 5),)) for name in ("s1", "s10"))
    program = Program(streams, (), (Resource("hbm"),))
    for fold in (True, False):
        for timeline in run_devices(program, 2, {}, fold=fold):
            assert [stream.stalls_ps for stream in timeline.streams] == [{}, {"hbm": 5}]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS)
def test_one_device_stands_for_all_in_every_figure(seed: int) -> None:
    rng = random.Random(seed)
    program = random_program(rng, most_streams=4)
    count = rng.randint(2, 4)
    links = {
        channel: rng.sample(range(count), count)
        for channel in range(len(program.channels))
        if rng.random() < 0.5 and stands_for_all(program, {channel: ()})
    }
    try:
        every = run_devices(program, count, links, fold=False)
    except ProgramError:
        with pytest.raises(ProgramError):
            run_devices(program, count, links)
        return
    assert figures(every) == figures(run_devices(program, count, links))
