"""Rules on units, launches and overlap, and how a change is proved."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from cases import case
from kernels import access, elementwise, matmul, softmax

from xpu_shark.passes.advise.batched import batched
from xpu_shark.passes.advise.case import HYPOTHETICAL
from xpu_shark.passes.advise.neighbours import Neighbours
from xpu_shark.passes.advise.prove import prove
from xpu_shark.passes.advise.ridge import past_ridge
from xpu_shark.passes.advise.rules import (
    RULES,
    conversion,
    issue,
    launch,
    overlap,
    special_functions,
)
from xpu_shark.passes.advise.rules.special_functions import cycles_by_kind
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import run_bound, time_ps
from xpu_shark.simulator.target import load
from xpu_shark.simulator.variation import moved, relaxed, time_after
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import (
    Contraction,
    Dim,
    Kernel,
    Nest,
    Tensor,
    Work,
)


def scaled(rows: int, cols: int, divisions: int) -> Kernel:
    """out = exp(x) / s, `divisions` times, with one s a row."""
    kernel = elementwise(rows, cols)
    column = Tensor(shape=(rows,), element="f32", storage="global")
    by_row = Work(kind="div", element="f32", count=divisions, by_loops=1)
    work = (Work(kind="exp", element="f32"), by_row)
    nest = msgspec.structs.replace(
        kernel.nests[0], reads=(access(0, 0, 1), access(2, 0)), work=work
    )
    tensors = (*kernel.tensors, column)
    return msgspec.structs.replace(kernel, nests=(nest,), tensors=tensors)


def gemv(n: int, k: int) -> Kernel:
    """y[n] = sum over k of x[k] x w[k, n]: no row dim."""
    nest = Nest(
        name="linalg.vecmat",
        dims=(Dim(extent=n, kind="parallel"), Dim(extent=k, kind="reduction")),
        reads=(access(0, 1), access(1, 1, 0)),
        writes=(access(2, 0),),
        work=(Work(kind="madd", element="f32"),),
        contraction=Contraction(
            batch=(),
            m=(),
            n=(0,),
            k=(1,),
            lhs=0,
            rhs=1,
            lhs_element="f32",
            rhs_element="f32",
            accumulator="f32",
        ),
    )
    shapes = ((k,), (k, n), (n,))
    tensors = tuple(Tensor(shape=shape, element="f32", storage="global") for shape in shapes)
    return Kernel(name="gemv", tensors=tensors, nests=(nest,))


def test_a_reciprocal_a_row_takes_the_place_of_divisions() -> None:
    # tiny: exp and div take 4 cycles, 12 a point; exp and 2 products 6, and 8 cycles a row.
    slow = case(scaled(256, 512, divisions=2), "tiny")
    assert cycles_by_kind(slow.kernel, slow.target) == {"exp": 131072 * 4, "div": 131072 * 8}
    [proposal] = special_functions.propose(slow)
    kernel, _ = proposal.launches[0]
    assert cycles_by_kind(kernel, slow.target) == {
        "exp": 131072 * 4,
        "mul": 131072 * 2,
        "div": 256 * 8,
    }
    assert "div, 67 % of the vector unit's cycles" in proposal.condition
    proof = prove(slow, proposal)
    assert proof is not None
    assert proof.state == "active"


def test_a_function_without_a_cheaper_form_gets_no_advice() -> None:
    assert list(special_functions.propose(case(elementwise(256, 512), "tiny"))) == []


def test_a_special_function_behind_the_bytes_is_not_looked_at() -> None:
    # 8 B a point at 4 B a ns are 2 ns; 4 cycles on 4 lanes are 1 ns.
    hidden = case(elementwise(256, 512), "tiny")
    assert special_functions.ceiling(hidden.run, hidden.target) < 0.02 * hidden.run.time_ps


def test_the_longest_loop_fills_the_lanes() -> None:
    # Rows of 3 on 4 lanes: a quarter is masked; 4096 rows of them fill whole instructions.
    narrow = case(elementwise(4096, 3), "tiny")
    [proposal] = issue.propose(narrow)
    assert "rows of 3 on 4 lanes" in proposal.condition
    kernel, tiling = proposal.launches[0]
    assert kernel.nests[0].extents == (3, 4096)
    assert flops(kernel) == flops(narrow.kernel)
    assert run_bound(kernel, tiling, narrow.target).bytes == narrow.run.bytes
    assert list(issue.propose(case(elementwise(3, 4096), "tiny"))) == []


def test_plain_operations_in_a_packed_type_pay_for_their_conversions() -> None:
    # tpu_v6e packs bf16. 32 additions in f32 are 32 cycles; narrow 16, and 2 conversions.
    plain = elementwise(1024, 1024, kind="add")
    work = (Work(kind="add", element="f32", count=32),)
    nest = msgspec.structs.replace(plain.nests[0], work=work)
    many = case(msgspec.structs.replace(plain, nests=(nest,)), "tpu_v6e")
    points = 1024 * 1024
    [proposal] = issue.propose(many)
    assert cycles_by_kind(proposal.launches[0][0], many.target) == {
        "add": points * 16,
        "convert": points * 2,
    }
    assert list(issue.propose(case(plain, "tpu_v6e"))) == []


def test_operands_stored_as_they_are_used_need_no_conversion() -> None:
    kernel = elementwise(64, 64, kind="convert")
    narrow = msgspec.structs.replace(kernel.tensors[0], element="i8")
    work = (Work(kind="convert", element="f32"), Work(kind="exp", element="f32"))
    nest = msgspec.structs.replace(kernel.nests[0], work=work)
    tensors = (narrow, kernel.tensors[1])
    usual = case(msgspec.structs.replace(kernel, nests=(nest,), tensors=tensors), "tiny")
    [proposal] = conversion.propose(usual)
    wide, _ = proposal.launches[0]
    assert [w.kind for w in wide.nests[0].work] == ["exp"]
    assert compulsory_bytes(wide) == 64 * 64 * (4 + 4)
    assert compulsory_bytes(usual.kernel) == 64 * 64 * (1 + 4)


def test_a_neighbours_launch_saves_the_launch_and_nothing_else() -> None:
    small = replace(case(elementwise(7), "mi300x"), find_near=lambda: Neighbours(closest=("next",)))
    assert launch.ceiling(small.run, small.target) == 3_000_000
    [proposal] = launch.propose(small)
    proof = prove(small, proposal)
    assert proof is not None
    assert small.run.time_ps - proof.after_ps == 3_000_000
    assert proposal.others == ("next",)


def test_a_dispatch_that_outlasts_its_launch_is_not_looked_at() -> None:
    large = case(elementwise(4096, 4096), "mi300x")
    assert launch.ceiling(large.run, large.target) == 0


def test_several_results_a_launch_share_the_weights_and_the_launch() -> None:
    one = bind(gemv(256, 64), {})
    eight = batched(one, 8)
    assert flops(eight) == 8 * flops(one)
    assert compulsory_bytes(eight) == 4 * (64 * 256 + 8 * (64 + 256))
    dims = eight.nests[0].contraction
    assert dims is not None
    assert (dims.m, dims.n, dims.k, dims.batch) == ((0,), (1,), (2,), ())


def test_a_batch_of_what_shares_nothing_moves_every_byte() -> None:
    rows = bind(softmax(4, 64), {})
    assert compulsory_bytes(batched(rows, 3)) == 3 * compulsory_bytes(rows)


def test_results_are_counted_where_somebody_said_how_many_a_call_gives() -> None:
    small = replace(case(elementwise(7), "mi300x"), results=4)
    [proposal] = launch.propose(small)
    assert "0.25 for each result" in proposal.condition
    # A launch is for four results now: four launches in one are sixteen.
    assert proposal.stands_for == 4
    assert "16 results a launch" in proposal.suggestion
    proof = prove(small, proposal)
    assert proof is not None
    # What one result takes is its share of the batch.
    [run] = proof.after
    assert proof.after_ps == round(run.time_ps / proposal.stands_for)


@pytest.mark.parametrize(
    ("results", "launches", "said"),
    [
        (1, 1, "4 results a launch"),
        (2, 8, "4 results a launch"),  # four launches a result: layers
        (32, 1, "64 results a launch"),
        (64, 1, ""),  # all that a launch is proposed to be for
    ],
)
def test_results_that_a_launch_is_for_already_are_counted(
    results: int, launches: int, said: str
) -> None:
    small = case(elementwise(7), "mi300x")
    dispatch = msgspec.structs.replace(small.dispatch, launches=launches)
    found = [
        p.suggestion for p in launch.propose(replace(small, dispatch=dispatch, results=results))
    ]
    assert [text[: len(said)] for text in found] == [said] * bool(said)


def test_a_second_buffer_lets_work_run_beside_loads() -> None:
    # In and out of 2048 elements are 16 KiB, all there is: one buffer. Of 1024, two.
    usual = case(elementwise(16384), "tiny")
    large = Tiling((2048,), (0,), "ir")
    run = run_bound(usual.kernel, large, usual.target)
    proposals = list(overlap.propose(replace(usual, run=run, thorough=False)))
    [proposal] = proposals
    assert "a single buffer" in proposal.condition
    assert proposal.launches[0][1].tile == (1024,)
    assert prove(replace(usual, run=run), proposal) is not None


@pytest.mark.parametrize("name", ["tiny", "tpu_v6e", "mi300x"])
def test_a_free_resource_other_than_the_bounds_own_never_beats_the_bound(name: str) -> None:
    usual = case(matmul(256, 256, 256, "bf16"), name)
    proposals = [p for p in overlap.propose(usual) if p.confidence == HYPOTHETICAL]
    for proposal in proposals:
        proof = prove(usual, proposal)
        assert proof is None or proof.after_ps >= usual.run.bounds.bound_ps


@pytest.mark.parametrize("kernel", [matmul(48, 40, 56), softmax(12, 100), elementwise(3, 500)])
@pytest.mark.parametrize("name", ["tiny", "tpu_v6e", "xdna2"])
def test_times_on_moved_targets_are_those_of_a_simulation(kernel: Kernel, name: str) -> None:
    usual = case(kernel, name)
    start, base = (usual.kernel, usual.run.plan), (usual.target, usual.run.time_ps)
    others = [*moved(usual.target), *(target for _, target in relaxed(usual.target))]
    for target in others:
        assert time_after(start, base, target) == time_ps(*start, target)


def test_an_intensity_past_the_ridge_is_where_operations_take_longer_than_bytes() -> None:
    # tiny: 16 madds and 4 B a ns. A product of n cubed takes n^3 / 16 ns and moves 12 n^2 B in
    # 3 n^2 ns, if every operand moves once: the ridge is n = 48.
    target = load("tiny")
    for size, past in ((32, False), (48, True)):
        once = bind(matmul(size, size, size), {})
        run = run_bound(once, Tiling((size, size, size), (0, 1)), target)
        assert run.bytes["hbm"] == 12 * size * size
        assert past_ridge(run, target) is past


def test_every_rule_has_a_ceiling_and_a_name_of_its_own() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    idle = case(elementwise(1 << 20, kind="add"), "tiny")  # at its bound, the hbm traffic
    assert [r.name for r in RULES if r.ceiling(idle.run, idle.target)] == []
