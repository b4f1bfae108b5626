"""Which launches read whose results, and which of them could be one, on programs by hand."""

from __future__ import annotations

import msgspec
from kernels import elementwise, matmul

from xpu_shark.passes.advise.dataflow import Dataflow, dataflow
from xpu_shark.passes.annotate.report_limits import settings
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator.evaluate import simulate
from xpu_shark.simulator.target import load
from xpu_shark.simulator.workload import (
    Command,
    Function,
    Kernel,
    Launch,
    Move,
    Place,
    Repeat,
    Span,
    Workload,
)

SIZE = 16 * 16 * 4
IN, W0, W1, TEMP, OUT, OTHER = range(6)  # buffers; only TEMP is transient


def bound(kernel: Kernel) -> Kernel:
    """The kernel with tensor n in binding n."""
    tensors = tuple(
        msgspec.structs.replace(tensor, place=Place(binding=number))
        for number, tensor in enumerate(kernel.tensors)
    )
    return msgspec.structs.replace(kernel, tensors=tensors)


KERNELS = (bound(matmul(16, 16, 16)), bound(elementwise(16, 16)))


def span(buffer: int, *, write: bool = False) -> Span:
    return Span(
        buffer=buffer,
        offset=0,
        bytes=SIZE,
        access="write" if write else "read",
        transient=buffer == TEMP,
    )


def product(weights: int, out: int) -> Launch:
    return Launch(kernel="matmul", spans=(span(IN), span(weights), span(out, write=True)))


def exp(source: int, out: int) -> Launch:
    return Launch(kernel="elementwise", spans=(span(source), span(out, write=True)))


def flow(*body: Command) -> Dataflow:
    workload = Workload(kernels=KERNELS, functions=(Function(name="main", body=body),))
    analysis = Analysis(target=load("tiny"), workload=workload)
    report = simulate(workload, settings(analysis))
    return dataflow(workload.functions[0], report.dispatches, analysis)


def test_launches_that_read_the_same_are_found_and_could_be_one() -> None:
    found = flow(product(W0, OUT), product(W1, OTHER))
    assert [(0, 0), (1, 0)] in list(found.together())
    assert found.convex([0, 1])


def test_what_is_written_in_between_is_not_the_same() -> None:
    found = flow(product(W0, TEMP), exp(TEMP, IN), product(W1, OTHER))
    assert list(found.together()) == []


def test_a_step_that_has_to_run_between_two_keeps_them_apart() -> None:
    found = flow(product(W0, TEMP), exp(TEMP, W1), product(W1, OUT))
    assert [(0, 0), (2, 0)] in list(found.together())
    assert not found.convex([0, 2])
    assert found.convex([0, 1, 2])


def test_a_transient_result_whose_readers_are_all_known_is_private() -> None:
    found = flow(product(W0, TEMP), exp(TEMP, OUT))
    assert found.readers == {(0, 2): [(1, 0)]}
    assert found.private((0, 2))
    # Nobody knows who looks at a buffer of the caller's.
    assert not flow(product(W0, OUT), exp(OUT, OTHER)).private((0, 2))


def test_a_result_that_is_read_in_part_or_by_the_next_turn_is_not_private() -> None:
    part = Move(kind="copy", bytes=4, spans=(msgspec.structs.replace(span(TEMP), bytes=4),))
    assert not flow(product(W0, TEMP), exp(TEMP, OUT), part).private((0, 2))
    turns = Repeat(trips=2, body=(product(W0, TEMP), exp(TEMP, OUT)))
    assert not flow(turns).private((0, 2))


def test_launches_on_different_devices_are_never_one() -> None:
    other = msgspec.structs.replace(product(W1, OTHER), device="two")
    found = flow(product(W0, OUT), other)
    assert list(found.together()) == []
    reader = msgspec.structs.replace(exp(TEMP, OUT), device="two")
    assert not flow(product(W0, TEMP), reader).private((0, 2))
