"""One program of a function: what stays in the scratchpad, and what that saves."""

from __future__ import annotations

import msgspec
import pytest
from kernels import access, matmul

from xpu_shark.simulator.bind import Context, bind
from xpu_shark.simulator.evaluate import Settings, simulate
from xpu_shark.simulator.result import Report
from xpu_shark.simulator.simulate import simulate_kernel
from xpu_shark.simulator.stay import contexts
from xpu_shark.simulator.symbolic import symbol
from xpu_shark.simulator.target import load
from xpu_shark.simulator.units.launch import launch_ps
from xpu_shark.simulator.work import compulsory_bytes
from xpu_shark.simulator.workload import (
    Choice,
    Command,
    Concurrent,
    Dim,
    Function,
    Kernel,
    Launch,
    Move,
    Nest,
    Place,
    Repeat,
    Span,
    Tensor,
    Workload,
)

V6E = load("tpu_v6e")  # 128 MiB of scratchpad: less than 64 MiB stay
SIDE = 1024
BYTES = 2 * SIDE * SIDE


def product(m: int = SIDE, n: int = SIDE, k: int = SIDE) -> Kernel:
    """A bf16 product that binds its operands and its result as 0, 1 and 2."""
    kernel = matmul(m, n, k, "bf16")
    tensors = tuple(
        msgspec.structs.replace(tensor, place=Place(binding=number))
        for number, tensor in enumerate(kernel.tensors)
    )
    return msgspec.structs.replace(kernel, tensors=tensors)


def launch(lhs: Span, rhs: Span, result: Span) -> Launch:
    return Launch(kernel="matmul", spans=(lhs, rhs, result))


def given(buffer: int) -> Span:
    return Span(buffer=buffer, offset=0, bytes=BYTES, access="read")


def made(buffer: int, access: str = "write", offset: int = 0, size: int = BYTES) -> Span:
    return msgspec.convert(
        {"buffer": buffer, "offset": offset, "bytes": size, "access": access, "transient": True},
        Span,
    )


def resident(*body: Command, kernel: Kernel | None = None) -> list[tuple[int, ...]]:
    """Tensors in the scratchpad, for each command in program order."""
    kernels = {"matmul": kernel or product()}
    return [context.resident for context in contexts(body, kernels, {}, V6E).values()]


PRODUCE, CONSUME = launch(given(0), given(1), made(9)), launch(made(9, "read"), given(1), given(5))


def test_a_result_stays_from_its_producer_to_its_reader() -> None:
    assert resident(PRODUCE, CONSUME) == [(2,), (0,)]


def test_what_stays_counts_against_every_launch_between() -> None:
    other = launch(given(0), given(1), given(6))
    body = (PRODUCE, other, CONSUME)
    found = contexts(body, {"matmul": product()}, {}, V6E)
    assert [context.held for context in found.values()] == [BYTES, BYTES, BYTES]


def test_concurrent_launches_stand_in_one_block() -> None:
    assert resident(Concurrent(body=(PRODUCE, CONSUME))) == [(2,), (0,)]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ((launch(given(0), given(1), given(9)), CONSUME), "the caller sees the buffer"),
        ((PRODUCE, Move(kind="copy", bytes=4, spans=(made(9, "read", 4, 4),)), CONSUME), "copied"),
        ((PRODUCE, Launch(kernel="elsewhere"), CONSUME), "nobody knows what a launch touches"),
        ((PRODUCE, Repeat(trips=4, body=(CONSUME,))), "read in every turn of a loop"),
        ((PRODUCE, Choice(arms=((CONSUME,), ()))), "read in one arm of a branch"),
        ((PRODUCE, launch(made(9, "read", 2), given(1), given(5))), "read from another byte on"),
        ((PRODUCE,), "nobody reads it"),
    ],
)
def test_a_result_that_others_see_does_not_stay(body: tuple[Command, ...], why: str) -> None:
    assert not any(resident(*body)), why


def test_a_result_ends_where_its_place_is_used_again() -> None:
    # The second result takes the place of the first one; each has its own reader.
    assert resident(PRODUCE, CONSUME, PRODUCE, CONSUME) == [(2,), (0,), (2,), (0,)]


def test_a_turn_that_writes_first_ends_what_the_turn_before_left() -> None:
    turn = Repeat(trips=1, body=(PRODUCE, CONSUME))
    assert resident(turn, turn) == resident(*turn.body) * 2
    perhaps = Choice(arms=((PRODUCE,), ()))  # where it is not taken the old result lives on
    assert not any(resident(PRODUCE, CONSUME, perhaps))


def test_a_place_that_only_the_run_knows_is_anywhere() -> None:
    moving = msgspec.structs.replace(made(9, "read"), offset=symbol("input0"))
    assert not any(resident(PRODUCE, launch(moving, given(1), given(5))))


@pytest.mark.parametrize(("rows", "stays"), [(32 * SIDE - 8, True), (32 * SIDE, False)])
def test_less_than_half_of_the_scratchpad_stays(rows: int, stays: bool) -> None:
    # 32 x 1024 rows of 1024 bf16 are 64 MiB.
    size = 2 * rows * SIDE
    first = launch(given(0), given(1), made(9, size=size))
    second = launch(made(9, "read", size=size), given(1), given(5))
    assert any(resident(first, second, kernel=product(m=rows))) == stays


def test_a_resident_tensor_neither_moves_nor_counts_as_compulsory() -> None:
    alone, inside = (
        compulsory_bytes(bind(product(), {}, context))
        for context in (Context(), Context((0,), BYTES, running=True))
    )
    assert alone - inside == BYTES


def run(*body: Command) -> Report:
    workload = Workload(kernels=(product(),), functions=(Function(name="main", body=body),))
    return simulate(workload, Settings(V6E))


def test_a_chain_moves_its_intermediate_result_never() -> None:
    apart = run(launch(given(0), given(1), given(9)), launch(given(9), given(1), given(5)))
    chain = run(PRODUCE, CONSUME)
    moved = [
        sum(d.launches * d.run.bytes["hbm"] for d in r.dispatches if d.run) for r in (apart, chain)
    ]
    assert moved == [6 * BYTES, 4 * BYTES]
    before, after = (report.functions[0].time_ps for report in (apart, chain))
    assert before is not None
    assert after is not None
    # 2 x 2 MiB at 1.495 TB/s are 2.8 us; latencies of two transfers are saved besides.
    assert 2_800_000 <= before - after <= 3_700_000


def test_one_program_is_launched_once() -> None:
    report = run(PRODUCE, CONSUME)
    times = [d.launches * d.run.time_ps for d in report.dispatches if d.run]
    assert report.functions[0].time_ps == launch_ps(V6E) + sum(times)
    assert all(d.run.bounds.least_ps["launch"] == 0 for d in report.dispatches if d.run)


def test_a_copy_inside_the_scratchpad_takes_its_bandwidth() -> None:
    # 2 MiB read and written at 36 TB/s.
    copy = Kernel(
        name="copy",
        tensors=product().tensors[:2],
        nests=(
            Nest(
                name="copy",
                dims=(Dim(extent=SIDE, kind="parallel"), Dim(extent=SIDE, kind="parallel")),
                reads=(access(0, 0, 1),),
                writes=(access(1, 1, 0),),
                work=(),
            ),
        ),
    )
    inside = simulate_kernel(copy, {}, V6E, "default", context=Context((0, 1), 2 * BYTES, True))
    assert inside is not None
    assert inside.time_ps == -(-2 * BYTES * 10**12 // (36 * 10**12))
    assert inside.bounds.bound_ps in (inside.time_ps, inside.time_ps - 1)  # rounded down
    assert (inside.attribution.limit, inside.bytes) == ("vmem", {"vmem": 2 * BYTES})


def test_a_broadcast_into_the_scratchpad_takes_its_bandwidth() -> None:
    # 4 KiB are loaded and fill 4 MiB: a transfer puts each element to one place only.
    row, whole = (SIDE,), (SIDE, SIDE)
    broadcast = Kernel(
        name="broadcast",
        tensors=tuple(Tensor(shape=s, element="f32", storage="global") for s in (row, whole)),
        nests=(
            Nest(
                name="broadcast",
                dims=(Dim(extent=SIDE, kind="parallel"),) * 2,
                reads=(access(0, 0),),
                writes=(access(1, 0, 1),),
                work=(),
            ),
        ),
    )
    run = simulate_kernel(broadcast, {}, V6E, "default", context=Context((1,), 2 * BYTES, True))
    assert run is not None
    assert run.bounds.bound_ps == int(4 * SIDE * SIDE * 10**12 / V6E.memory[-1].bytes_per_s)
    assert run.time_ps >= run.bounds.bound_ps
    assert run.bytes["hbm"] == 4 * SIDE
