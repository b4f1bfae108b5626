"""What holds for every kernel, tiling and target, tried on random ones."""

from __future__ import annotations

import random
from contextlib import suppress

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import random_program
from random_kernels import random_case, random_target

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.bounds import bounds
from xpu_shark.simulator.busy import executions, least_ps
from xpu_shark.simulator.engine import run
from xpu_shark.simulator.lower import lower
from xpu_shark.simulator.plan import Tiling, phases
from xpu_shark.simulator.program import (
    Channel,
    Instruction,
    Loop,
    Program,
    ProgramError,
    Resource,
    Stream,
    instructions,
)
from xpu_shark.simulator.residency import Residency
from xpu_shark.simulator.simulate import run_bound
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.timeline import Timeline
from xpu_shark.simulator.work import compulsory_bytes

SEEDS = st.integers(min_value=0, max_value=2**32)
LAWS = settings(max_examples=150, deadline=None, derandomize=True)


@LAWS
@given(SEEDS)
def test_folded_kernel_equals_full_run_in_every_figure(seed: int) -> None:
    program = lower(*random_case(seed))
    folded, full = run(program), run(program, fold=False)
    assert msgspec.structs.replace(folded, steps=full.steps) == full


@LAWS
@given(SEEDS)
def test_times_and_bytes_of_every_kernel_add_up(seed: int) -> None:
    kernel, tiling, target = random_case(seed)
    program = lower(kernel, tiling, target)
    timeline = run(program)
    for stream in timeline.streams:
        assert stream.busy_ps + sum(stream.stalls_ps.values()) + stream.idle_ps == timeline.time_ps
        assert min((0, *stream.stalls_ps.values(), stream.idle_ps)) == 0
    moved = [0] * len(program.resources)
    busy = [0] * len(program.resources)
    for stream_ in program.streams:
        for instruction, times in executions(stream_.body):
            moved[instruction.resource] += times * instruction.bytes
            busy[instruction.resource] += times * instruction.service_ps
    assert [(use.bytes, use.busy_ps) for use in timeline.resources] == list(
        zip(moved, busy, strict=True)
    )
    outer = next(use for use in timeline.resources if use.name == target.memory[0].name)
    assert outer.bytes >= compulsory_bytes(kernel)
    assert all(use.busy_ps <= timeline.time_ps for use in timeline.resources)
    assert timeline.time_ps >= bounds(kernel, target).bound_ps


@LAWS
@given(SEEDS)
def test_what_a_transfer_brings_decides_the_bytes(seed: int) -> None:
    """Not what of it is worked on at once, while no local tensor goes out to memory."""
    kernel, tiling, target = random_case(seed)
    coarse = msgspec.structs.replace(tiling, tile=tiling.transfer, moved=None)
    if target.execution == "sequential" and not _out(kernel, tiling, target):
        one, other = (run_bound(kernel, each, target).bytes for each in (tiling, coarse))
        assert one == other or _out(kernel, coarse, target)


def _out(kernel: BoundKernel, tiling: Tiling, target: Target) -> set[int]:
    return Residency(kernel, tiling, target, phases(kernel, tiling)).out


@LAWS
@given(SEEDS)
def test_bound_that_prunes_candidates_is_never_above_the_simulated_time(seed: int) -> None:
    program = lower(*random_case(seed))
    assert 0 < least_ps(program) <= run(program).time_ps


@LAWS
@given(SEEDS)
def test_bound_holds_for_programs_of_any_coupling(seed: int) -> None:
    program = random_program(random.Random(seed))
    with suppress(ProgramError):  # some cannot move on
        assert least_ps(program) <= run(program).time_ps


@LAWS
@given(SEEDS)
def test_faster_memory_is_never_slower_where_no_two_queues_share_it(seed: int) -> None:
    # Where queues share a memory first come, first served, a change of order may cost time; with
    # a port for each queue, every start is a maximum of sums of costs, which grows with each.
    kernel, tiling, target = random_case(seed)
    slow = run(own_ports(lower(kernel, tiling, target)))
    fast = run(own_ports(lower(kernel, tiling, faster(target))))
    assert fast.time_ps <= slow.time_ps


@LAWS
@given(SEEDS)
def test_faster_or_missing_instruction_is_never_slower_with_a_port_each(seed: int) -> None:
    rng = random.Random(seed)
    program = own_ports(random_program(rng))
    before = finish(program)
    victim = rng.randrange(10**6)
    changed = finish(relaxed(program, victim, free=rng.random() < 0.5))
    if isinstance(before, Timeline):
        assert isinstance(changed, Timeline)
        assert changed.time_ps <= before.time_ps


@LAWS
@given(SEEDS)
def test_more_buffers_are_never_slower_with_a_port_each(seed: int) -> None:
    rng = random.Random(seed)
    program = own_ports(random_program(rng))
    before = finish(program)
    if isinstance(before, Timeline):
        deeper = tuple(
            Channel(c.name, c.cause, c.initial + rng.randint(0, 2)) for c in program.channels
        )
        more = msgspec.structs.replace(program, channels=deeper)
        assert run(more).time_ps <= before.time_ps


def own_ports(program: Program) -> Program:
    """The same program with one resource a stream."""
    streams = tuple(
        Stream(stream.name, _on(stream.body, number))
        for number, stream in enumerate(program.streams)
    )
    ports = tuple(Resource(stream.name) for stream in program.streams)
    return Program(streams, program.channels, ports)


def _on(body: tuple[Instruction | Loop, ...], resource: int) -> tuple[Instruction | Loop, ...]:
    return tuple(
        Loop(item.count, _on(item.body, resource), item.tag)
        if isinstance(item, Loop)
        else msgspec.structs.replace(item, resource=resource)
        for item in body
    )


def faster(target: Target) -> Target:
    """Twice the rate and half the latency at every level, half the set-up."""
    memory = tuple(
        msgspec.structs.replace(
            level,
            bytes_per_s=2 * level.bytes_per_s,
            core_bytes_per_s=level.core_bytes_per_s and 2 * level.core_bytes_per_s,
            latency_ns=level.latency_ns / 2,
        )
        for level in target.memory
    )
    dma = msgspec.structs.replace(target.dma, setup_ns=target.dma.setup_ns / 2)
    return msgspec.structs.replace(target, memory=memory, dma=dma)


def relaxed(program: Program, victim: int, *, free: bool) -> Program:
    """One instruction takes half as long, or (`free`) none at all and has no latency."""
    every = [item for stream in program.streams for item in instructions(stream.body)]
    chosen = every[victim % len(every)]
    cheaper = msgspec.structs.replace(
        chosen,
        service_ps=0 if free else chosen.service_ps // 2,
        latency_ps=0 if free else chosen.latency_ps // 2,
    )
    streams = tuple(
        Stream(stream.name, _swap(stream.body, chosen, cheaper)) for stream in program.streams
    )
    return Program(streams, program.channels, program.resources)


def _swap(
    body: tuple[Instruction | Loop, ...], old: Instruction, new: Instruction
) -> tuple[Instruction | Loop, ...]:
    return tuple(
        Loop(item.count, _swap(item.body, old, new), item.tag)
        if isinstance(item, Loop)
        else (new if item is old else item)
        for item in body
    )


def finish(program: Program) -> Timeline | str:
    try:
        return run(program)
    except ProgramError as error:
        return str(error)


def test_random_targets_differ() -> None:
    assert len({str(random_target(random.Random(seed)).memory) for seed in range(20)}) > 10
