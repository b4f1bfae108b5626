"""Attention without a fused kernel: product, softmax and product, one after another."""

from __future__ import annotations

import msgspec
import pytest
from kernels import access

from xpu_shark.simulator.apart import recomputing
from xpu_shark.simulator.bind import BoundKernel, bind
from xpu_shark.simulator.search import search
from xpu_shark.simulator.simulate import KernelRun, run_bound
from xpu_shark.simulator.target import load
from xpu_shark.simulator.tilers import systolic
from xpu_shark.simulator.workload import Contraction, Dim, Kernel, Nest, Tensor, Work

V6E = load("tpu_v6e")


def attention(heads: int, length: int, width: int) -> BoundKernel:
    """softmax(q k^T) v, bf16 with f32 sums; the result is not divided by the row sums."""
    wide, square = (heads, length, width), (heads, length, length)
    shapes = [(wide, "bf16", "global")] * 3 + [(square, "f32", "local")]
    shapes += [((heads, length), "f32", "local")] * 2
    shapes += [(square, "bf16", "local"), (wide, "bf16", "global")]
    tensors = tuple(Tensor(shape=s, element=e, storage=where) for s, e, where in shapes)
    q, k, v, s, top, total, p, out = range(8)

    def dims(*sizes: int, last: str) -> tuple[Dim, ...]:
        kinds = ["parallel"] * (len(sizes) - 1) + [last]
        return tuple(
            msgspec.convert({"extent": n, "kind": kind}, Dim)
            for n, kind in zip(sizes, kinds, strict=True)
        )

    def product(
        name: str, sizes: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...], to: int
    ) -> Nest:
        roles = Contraction(
            batch=(0,),
            m=(1,),
            n=(2,),
            k=(3,),
            lhs=0,
            rhs=1,
            lhs_element="bf16",
            rhs_element="bf16",
            accumulator="f32",
        )
        return Nest(
            name=name,
            dims=dims(*sizes, last="reduction"),
            reads=(access(*a), access(*b)),
            writes=(access(to, 0, 1, 2),),
            work=(Work(kind="madd", element="f32"),),
            contraction=roles,
        )

    rows = dims(heads, length, length, last="reduction")
    softmax = (Work(kind="add", element="f32", count=2), Work(kind="exp", element="f32"))
    nests = (
        product("qk", (heads, length, length, width), (q, 0, 1, 3), (k, 0, 2, 3), s),
        Nest(
            name="max",
            dims=rows,
            reads=(access(s, 0, 1, 2),),
            writes=(access(top, 0, 1),),
            work=(Work(kind="max", element="f32"),),
        ),
        Nest(
            name="exp_sum",
            dims=rows,
            reads=(access(s, 0, 1, 2), access(top, 0, 1)),
            writes=(access(p, 0, 1, 2), access(total, 0, 1)),
            work=softmax,
        ),
        product("pv", (heads, length, width, length), (p, 0, 1, 3), (v, 0, 3, 2), out),
    )
    return bind(Kernel(name="attention", tensors=tensors, nests=nests, online=True), {})


def default(kernel: BoundKernel) -> KernelRun:
    return run_bound(kernel, systolic.choose(kernel, V6E), V6E)


def operands(heads: int, length: int, width: int) -> int:
    return 4 * 2 * heads * length * width


def test_scores_that_do_not_fit_pass_memory_four_times() -> None:
    # Written once; read for the maximum, for the sum and for the second product: as bf16.
    run = default(attention(96, 512, 64))
    assert run.plan.apart
    assert run.bytes["hbm"] == operands(96, 512, 64) + 4 * 2 * 96 * 512 * 512


def test_scores_lie_in_memory_in_whole_registers() -> None:
    run = default(attention(256, 328, 64))
    assert run.bytes["hbm"] == operands(256, 328, 64) + 4 * 2 * 256 * 328 * 384


@pytest.mark.parametrize(("heads", "moves"), [(63, False), (64, True)])
def test_scores_stay_while_they_take_no_more_than_half_of_the_scratchpad(
    heads: int, moves: bool
) -> None:
    # 64 heads of 512 x 512 f32 are 64 MiB of 128, and the sums of their rows come on top.
    run = default(attention(heads, 512, 64))
    assert (run.bytes["hbm"] > operands(heads, 512, 64)) == moves


@pytest.mark.parametrize(
    ("length", "width", "apart"),
    [(512, 128, False), (512, 64, True), (200, 128, False), (128, 128, False)],
)
def test_fused_kernels_take_heads_of_whole_registers(length: int, width: int, apart: bool) -> None:
    assert systolic.choose(attention(8, length, width), V6E).apart == apart


def test_what_is_computed_point_by_point_is_computed_again() -> None:
    *_, exp_sum, pv = recomputing(attention(2, 256, 64)).nests
    assert [write.tensor for write in exp_sum.writes] == [5]  # row sums, no longer the weights
    assert pv.reads[0] == access(3, 0, 1, 3)  # the scores, where the weights were read
    assert access(4, 0, 1) in pv.reads  # and the row maxima
    assert {work.kind for work in pv.work} == {"madd", "add", "exp"}


def test_the_search_finds_what_a_fused_kernel_would_give() -> None:
    kernel = attention(96, 512, 64)
    tiling = systolic.choose(kernel, V6E)
    best = search(kernel, V6E, tiling)[0].run
    assert best.time_ps < default(kernel).time_ps
    assert best.bytes["hbm"] == operands(96, 512, 64)


def test_heads_that_are_too_long_to_be_worked_on_whole_are_cut_along_their_queries() -> None:
    # 4096 x 4096 scores in f32 and bf16 are 96 MiB, with queries, keys and values of a head beside.
    short, long = (attention(8, length, 64) for length in (2048, 4096))
    plan = systolic.choose(long, V6E)
    assert plan.apart
    assert plan.tile[:3] == (1, 2048, 4096)
    times = [
        run_bound(kernel, systolic.choose(kernel, V6E), V6E).time_ps for kernel in (short, long)
    ]
    assert times[1] == pytest.approx(4 * times[0], rel=0.05)
