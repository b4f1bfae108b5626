"""Functions: launches counted, loops multiplied, what is missing named, sums of parts."""

from __future__ import annotations

import msgspec
import pytest
from kernels import elementwise, matmul

from xpu_shark.simulator.evaluate import Settings, simulate
from xpu_shark.simulator.result import Report
from xpu_shark.simulator.symbolic import apply, symbol
from xpu_shark.simulator.target import HostCall, Submit, load
from xpu_shark.simulator.workload import (
    Choice,
    Collective,
    Command,
    Concurrent,
    Dim,
    Function,
    Kernel,
    Launch,
    Move,
    Repeat,
    Tensor,
    Workload,
)

TINY = load("tiny")
SMALL = matmul(4, 4, 4, tiles=(4, 4, 4))  # 129 ns: counted in test_lower.py
PS = 129_000


def report(*body: Command, kernels: tuple[Kernel, ...] = (SMALL,), **dims: int) -> Report:
    workload = Workload(kernels=kernels, functions=(Function(name="main", body=body),))
    named = {name.replace("_", "."): value for name, value in dims.items()}
    return simulate(workload, Settings(TINY, named))


def rows_kernel() -> Kernel:
    """`elementwise` over `constant0` x 8."""
    kernel = elementwise(3, 8)
    tensor = Tensor(shape=(symbol("constant0"), 8), element="f32", storage="global")
    dims = (Dim(extent=symbol("constant0"), kind="parallel"), Dim(extent=8, kind="parallel"))
    nest = msgspec.structs.replace(kernel.nests[0], dims=dims)
    return msgspec.structs.replace(kernel, name="rows", tensors=(tensor, tensor), nests=(nest,))


def test_equal_launches_are_one_dispatch_with_every_place() -> None:
    done = report(
        Launch(kernel="matmul", location="m.mlir:1:1"),
        Launch(kernel="matmul", location="m.mlir:9:1"),
    )
    [dispatch] = done.dispatches
    assert (dispatch.sites, dispatch.launches) == (2, 2)
    assert dispatch.locations == ("m.mlir:1:1", "m.mlir:9:1")
    assert done.functions[0].time_ps == 2 * PS
    assert done.functions[0].dispatches == 2


def test_loops_multiply_launches() -> None:
    inner = Repeat(trips=3, body=(Launch(kernel="matmul"),), name="main.loop1")
    done = report(Repeat(trips=5, body=(inner,), name="main.loop0"))
    assert done.dispatches[0].launches == 15
    assert done.dispatches[0].sites == 1
    assert done.functions[0].time_ps == 15 * PS


def test_a_loop_of_unknown_length_counts_one_trip_and_says_so() -> None:
    loop = Repeat(trips=symbol("main.loop0"), body=(Launch(kernel="matmul"),), name="main.loop0")
    done = report(loop)
    assert done.dispatches[0].per == ("main.loop0",)
    assert done.functions[0].unknown == ("main.loop0",)
    assert done.functions[0].time_ps == PS
    told = report(loop, main_loop0=7)
    assert told.dispatches[0].launches == 7
    assert told.functions[0].unknown == ()


def test_an_unknown_branch_takes_its_longest_arm_unless_told() -> None:
    arms = ((Launch(kernel="matmul"),), (Launch(kernel="matmul"), Launch(kernel="matmul")))
    branch = Choice(arms=arms, name="main.branch0")
    assert report(branch).functions[0].launches == 2
    assert report(branch).functions[0].unknown == ("main.branch0",)
    assert report(branch, main_branch0=0).functions[0].launches == 1


def test_a_size_without_value_is_named_and_leaves_no_time() -> None:
    launch = Launch(kernel="rows", constants=(symbol("input0.0"),))
    done = report(launch, kernels=(rows_kernel(),))
    assert done.dispatches[0].missing == ("input0.0",)
    assert done.dispatches[0].run is None
    assert done.functions[0].time_ps is None
    assert done.functions[0].unknown == ("input0.0",)


def test_a_size_may_be_given_by_its_function_too() -> None:
    launch = Launch(kernel="rows", constants=(apply("mul", symbol("input0.0"), 2),))
    kernels = (rows_kernel(),)
    short = report(launch, kernels=kernels, input0_0=5)
    long = report(launch, kernels=kernels, main_input0_0=5)
    assert short.dispatches[0].constants == (10,)
    assert short == long
    assert short.dispatches[0].run is not None
    assert short.dispatches[0].run.bytes["hbm"] == 2 * 10 * 8 * 4


def test_launches_with_different_sizes_are_different_dispatches() -> None:
    launches = [Launch(kernel="rows", constants=(size,)) for size in (4, 8, 4)]
    done = report(*launches, kernels=(rows_kernel(),))
    assert sorted((d.constants, d.launches) for d in done.dispatches) == [((4,), 2), ((8,), 1)]


def test_constants_that_no_size_depends_on_do_not_tell_launches_apart() -> None:
    launches = [Launch(kernel="matmul", constants=(number,)) for number in range(5)]
    assert len(report(*launches).dispatches) == 1


def test_no_rows_is_no_work_and_not_a_fast_launch() -> None:
    done = report(Launch(kernel="rows", constants=(0,)), kernels=(rows_kernel(),))
    assert done.dispatches[0].run is None
    assert done.dispatches[0].reason == "no work"
    assert done.functions[0].time_ps == 0


def test_a_kernel_that_nothing_defines_is_listed_with_its_reason() -> None:
    done = report(Launch(kernel="elsewhere"), Launch(kernel="matmul"))
    [item] = [d for d in done.dispatches if d.name == "elsewhere"]
    assert (item.state, item.run) == ("unmodelled", None)
    assert done.functions[0].unmodelled == (("elsewhere", item.reason),)
    assert (done.functions[0].dispatches, done.functions[0].modelled) == (2, 1)


def test_moves_take_part_in_the_function_and_concurrent_ones_add_up() -> None:
    fill = Move(kind="fill", bytes=64)
    alone = report(fill)
    both = report(Concurrent(body=(fill, fill)))
    # launch 10; 64 bytes at 4 a ns and 5 of set-up: 21; 20 of latency.
    assert alone.commands[0].time_ps == 51_000
    assert both.commands[0].launches == 2
    assert both.functions[0].time_ps == 2 * 51_000


def test_a_copy_moves_its_bytes_twice() -> None:
    assert report(Move(kind="copy", bytes=64)).commands[0].bytes == {"hbm": 128}


def test_a_collective_of_unknown_group_says_what_to_give() -> None:
    done = report(Collective(kind="all_reduce", reduction="sum", element="f32", bytes=64))
    assert done.commands[0].time_ps is None
    assert "--xpu-devices" in done.commands[0].reason


def test_the_host_submits_a_function_once() -> None:
    slow = msgspec.structs.replace(TINY, submit_ns=1000.0)
    body = (Launch(kernel="matmul"), Launch(kernel="matmul"))
    workload = Workload(kernels=(SMALL,), functions=(Function(name="main", body=body),))
    [function] = simulate(workload, Settings(slow)).functions
    assert function.time_ps == 2 * PS + 1_000_000
    assert function.serial_ps is not None
    assert function.time_ps >= (function.bound_ps or 0)


@pytest.mark.parametrize(("call_ns", "time_ps"), [(900.0, 1_000_000 + PS), (1500.0, 1_500_000)])
def test_the_host_works_on_beside_the_device(call_ns: float, time_ps: int) -> None:
    """The longer call goes on for 500 ns after the start, the product takes less."""
    call = HostCall(before_ns=1000.0, call_ns=call_ns)
    slow = msgspec.structs.replace(TINY, submit=Submit(contraction=call))
    function = Function(name="main", body=(Launch(kernel="matmul"),))
    [done] = simulate(Workload(kernels=(SMALL,), functions=(function,)), Settings(slow)).functions
    assert done.time_ps == time_ps


@pytest.mark.parametrize("name", ["empty"])
def test_a_function_that_launches_nothing_has_no_time(name: str) -> None:
    workload = Workload(kernels=(), functions=(Function(name=name, body=()),))
    [function] = simulate(workload, Settings(TINY)).functions
    assert (function.time_ps, function.dispatches) == (None, 0)
