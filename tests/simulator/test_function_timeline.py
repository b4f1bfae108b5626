"""A device and a network side by side: hand counts, laws, and the engine as a second way."""

from __future__ import annotations

import random

import pytest

from xpu_shark.simulator import engine
from xpu_shark.simulator.function_timeline import Run, Task, run
from xpu_shark.simulator.program import Channel, Instruction, Loop, Program, Resource, Stream


def device(time: int, *needs: int, memory: int = 0) -> Task:
    return Task(time, memory, False, needs)


def network(time: int, *needs: int, memory: int = 0) -> Task:
    return Task(time, memory, True, needs)


def test_what_passes_behind_a_launch_is_hidden() -> None:
    # launch 0-100 and 100-150; all-gather 100-180: 50 beside the second launch, then 30 alone.
    done = run([device(100), network(80, 0), device(50, 0), device(10, 1)])
    assert done == Run(190, (0, 100, 100, 180), (100, 180, 150, 190), (0, 30, 0, 0))


def test_a_chain_exposes_everything() -> None:
    assert run([device(5), network(7, 0), device(5, 1), network(7, 2)]).exposed_ps == (0, 7, 0, 7)


def test_one_collective_at_a_time() -> None:
    assert run([network(7), network(9)]) == Run(16, (0, 7), (7, 16), (7, 9))


def test_the_first_in_the_program_that_can_run_runs() -> None:
    # Launch 1 waits for the all-gather; launch 2, behind it in the program, does not.
    done = run([network(30), device(10, 0), device(20)])
    assert done.begin_ps == (0, 30, 0)
    assert done.exposed_ps == (10, 0, 0)


def test_main_memory_is_shared_evenly_where_both_want_all_of_it() -> None:
    # Each at half speed until the network is done at 200, or a picosecond before where halves of
    # one are rounded; the device has 50 left by then.
    done = run([device(150, memory=150), network(100, memory=100)])
    assert done.time_ps == 250
    assert done.exposed_ps == (0, 100)


def test_who_wants_little_memory_is_not_slowed() -> None:
    # The network wants a fifth of the memory's time, so the launch has four fifths.
    done = run([device(100, memory=100), network(100, memory=20)])
    assert done.end_ps == (120, 100)
    assert done.exposed_ps == (0, 20)


def test_nothing_takes_no_time() -> None:
    assert run([]).time_ps == 0
    assert run([device(0), network(0, 0), device(3, 1)]).time_ps == 3


@pytest.mark.parametrize("seed", range(40))
def test_laws_of_random_graphs(seed: int) -> None:
    draw = random.Random(seed)
    tasks = []
    for number in range(draw.randint(1, 30)):
        time = draw.choice((0, 1, 7, draw.randint(1, 10**6)))
        needs = tuple(sorted(draw.sample(range(number), min(number, draw.randint(0, 3)))))
        tasks.append(Task(time, draw.randint(0, time), draw.random() < 0.4, needs))
    done = run(tasks)
    busy = sum(task.time_ps for task in tasks if not task.network)
    assert done.time_ps == busy + sum(done.exposed_ps)
    assert done.time_ps <= sum(task.time_ps for task in tasks)
    for number, task in enumerate(tasks):
        assert done.end_ps[number] >= done.begin_ps[number] + task.time_ps
        assert all(done.begin_ps[number] >= done.end_ps[need] for need in task.needs)
        assert 0 <= done.exposed_ps[number] <= task.time_ps


def pipeline(name: str, memory: int, work: int, steps: int, first: int) -> tuple[Stream, Stream]:
    """Loads that keep the memory for `memory` and work of `work` on each, four loads ahead."""
    full, free = 2 * first, 2 * first + 1
    load = Instruction(0, memory, waits=((free, 1),), posts=((full, 1),))
    compute = Instruction(1 + first, work, waits=((full, 1),), posts=((free, 1),))
    return (
        Stream(f"{name}.load", (Loop(steps, (load,), 2 * first),)),
        Stream(f"{name}.work", (Loop(steps, (compute,), 2 * first + 1),)),
    )


@pytest.mark.parametrize("works", [(12, 12), (12, 60), (20, 15), (24, 24), (30, 20), (12, 16)])
@pytest.mark.parametrize("steps", [(400, 400), (300, 700)])
def test_the_closed_form_agrees_with_the_engine(
    works: tuple[int, int], steps: tuple[int, int]
) -> None:
    """Two pipelines that load through one memory, in requests of one size, first come, first
    served: each keeps the memory busy 12 of so many picoseconds."""
    memory = 12
    streams = [
        stream
        for number, (work, count) in enumerate(zip(works, steps, strict=True))
        for stream in pipeline("ab"[number], memory, work, count, number)
    ]
    channels = tuple(Channel(f"{number}", "buffer", 4 if number % 2 else 0) for number in range(4))
    resources = (Resource("memory"), Resource("a"), Resource("b"))
    timeline = engine.run(Program(tuple(streams), channels, resources))
    tasks = [
        Task(work * count, memory * count, network)
        for work, count, network in zip(works, steps, (False, True), strict=True)
    ]
    assert run(tasks).time_ps == pytest.approx(timeline.time_ps, rel=0.02)
