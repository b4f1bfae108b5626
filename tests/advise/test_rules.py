"""Rules and their proof, on kernels whose best answer can be counted."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from cases import case
from kernels import elementwise, matmul, matmul_relu

from xpu_shark.passes.advise.give_advice import budget
from xpu_shark.passes.advise.prove import prove
from xpu_shark.passes.advise.rules import RULES, precision, split_reduction, tiling
from xpu_shark.passes.advise.rules.split_reduction import split_kernel
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.result import Finding
from xpu_shark.simulator.target import load
from xpu_shark.simulator.variation import moved, relaxed
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import Kernel


def test_a_pinned_tile_that_reloads_operands_is_improved_and_proved() -> None:
    # tiny: 64 cubed in tiles of 4 x 4 loads A once and B, once a row of tiles, 16 times: with C
    # 18 x 16 KiB move where 3 x 16 KiB would do, and three whole matrices do not fit beside
    # each other in 16 KiB.
    slow = case(matmul(64, 64, 64, tiles=(4, 4, 64)), "tiny")
    [proposal] = tiling.propose(slow)
    proof = prove(slow, proposal)
    assert proof is not None
    assert proof.state == "active"
    assert proof.low <= proof.speedup <= proof.high
    assert slow.run.bytes["hbm"] == 18 * 16384
    assert proof.after[0].bytes["hbm"] < 9 * 16384


def test_the_target_compilers_own_tile_is_named_and_left_alone_within_3_percent() -> None:
    whole = case(matmul(1024, 1024, 1024, element="f16"), "tpu_v6e")
    [proposal] = tiling.propose(whole)
    assert proposal.condition.startswith("the target compiler's tile [1024, 1024, 1024], one tile")
    assert proposal.worth == 1.03
    proof = prove(whole, proposal)
    assert proof is not None
    assert proof.speedup > 1.2
    assert prove(whole, replace(proposal, worth=proof.speedup + 0.01)) is None
    [pinned] = tiling.propose(case(matmul(64, 64, 64, tiles=(4, 4, 64)), "tiny"))
    assert pinned.condition.startswith("the pinned tile [4, 4, 64]")
    assert pinned.worth == 1


def test_a_kernel_at_its_bound_gets_no_tiling_advice() -> None:
    # 8 MiB at 4 bytes a ns, the additions hidden behind them: within 5 % of its bound.
    near = case(elementwise(1 << 20, kind="add"), "tiny")
    assert near.run.time_ps < 1.05 * near.run.bounds.bound_ps
    assert list(tiling.propose(near)) == []


def test_a_long_reduction_on_idle_cores_is_split_into_whole_work() -> None:
    long = case(matmul(16, 16, 65536), "mi300x")
    [proposal] = split_reduction.propose(long)
    # 256 parts of 256 iterations each: all cores but 48 of 304 work.
    assert "into 256 parts" in proposal.suggestion
    proof = prove(long, proposal)
    assert proof is not None
    assert proof.low > 2


def test_the_split_kernels_do_the_same_work_and_the_additions() -> None:
    kernel = bind(matmul(16, 16, 65536), {})
    partial, total = split_kernel(kernel, axis=2, parts=256)
    assert flops(partial) == flops(kernel)
    assert flops(total) == 256 * 16 * 16


def test_what_follows_a_split_reduction_moves_to_the_pass_that_adds_up() -> None:
    # 33 x 33 in tiles of 16 x 64 are 3 tiles; 100 parts for 304 cores divide 900,000.
    long = case(matmul_relu(33, 33, 900_000), "mi300x")
    [proposal] = split_reduction.propose(long)
    assert "into 100 parts (--iree-dispatch-creation-split-matmul-reduction=100)" in (
        proposal.suggestion
    )
    (partial, _), (total, _) = proposal.launches
    assert [nest.name for nest in partial.nests] == ["linalg.matmul"]
    assert len(total.nests) == 2
    assert flops(partial) + flops(total) == flops(long.kernel) + 100 * 33 * 33
    # The parts, the row and the result.
    assert compulsory_bytes(total) == 4 * (100 * 33 * 33 + 33 + 33 * 33)
    proof = prove(long, proposal)
    assert proof is not None
    assert proof.low > 10


@pytest.mark.parametrize(
    ("other", "flag"),
    [
        (matmul(512, 512, 512), False),
        (matmul(512, 512, 500), True),  # no 256 equal parts
        (elementwise(1024), True),
    ],
)
def test_the_flag_is_given_only_where_it_splits_nothing_else(other: Kernel, flag: bool) -> None:
    long, beside = matmul(16, 16, 65536), msgspec.structs.replace(other, name="other")
    [proposal] = split_reduction.propose(replace(case(long, "mi300x"), kernels=(long, beside)))
    how = "--iree-dispatch-creation-split-matmul-reduction=256"
    alone = "iree_linalg_ext.split_reduction = [256 : index] on its linalg op"
    assert f"({how if flag else alone})" in proposal.suggestion


def test_parts_are_equal_where_there_are_enough_of_them() -> None:
    # 304 cores, one tile: 50,021 is prime and makes no equal parts, 50,000 makes 250.
    for extent, parts in ((50_021, 195), (50_000, 125)):
        [proposal] = split_reduction.propose(case(matmul(16, 16, extent), "mi300x"))
        assert f"into {parts} parts" in proposal.suggestion
        assert ("--iree" in proposal.suggestion) is (extent % parts == 0)


@pytest.mark.parametrize("shape", [(4096, 4096, 4096), (16, 16, 128)])
def test_no_split_where_cores_are_full_or_the_reduction_short(shape: tuple[int, ...]) -> None:
    assert list(split_reduction.propose(case(matmul(*shape), "mi300x"))) == []


def test_narrower_operands_halve_bytes_and_pay_for_their_conversion() -> None:
    wide = case(matmul(1024, 1024, 1024), "tpu_v6e")
    proposal, *_ = precision.propose(wide)
    kernel, _ = proposal.launches[0]
    # Two operand elements are converted for each element of the larger operand.
    assert [w.count for w in kernel.nests[0].work if w.kind == "quantise"] == [2]
    assert {kernel.tensors[0].element, kernel.tensors[1].element} == {"bf16"}
    assert kernel.tensors[2].element == "f32"


AT_BOUND = matmul(1, 512, 512, tiles=(1, 64, 64))  # one row, in pieces that hide each other


@pytest.mark.parametrize("lanes", [1, 3, 8, 16])
def test_a_narrower_type_pays_where_conversions_take_less_than_the_bytes(lanes: int) -> None:
    # One row: each element of B is 4 bytes, 1 ns at 4 bytes a ns, and the kernel is at its bound.
    # Narrow it is 0.5 ns, beside 2 conversions at 1 ns a lane, 2 / lanes ns: past four lanes
    # the bytes take longer, below two the conversions longer than the wide bytes.
    usual = load("tiny")
    vector = msgspec.structs.replace(usual.vector, lanes=lanes)
    thin = case(AT_BOUND, msgspec.structs.replace(usual, vector=vector))
    assert thin.run.time_ps <= 1.05 * thin.run.bounds.bound_ps
    assert precision.ceiling(thin.run, thin.target) > 0.9 * thin.run.time_ps
    proposal, *_ = precision.propose(thin)
    proof, gain = prove(thin, proposal), 1 / max(0.5, 2 / lanes)
    if gain <= 1:
        assert proof is None
        return
    assert proof is not None
    assert proof.speedup == pytest.approx(gain, rel=0.07)  # DMA set-up, first and last piece


def test_where_conversions_and_bytes_are_even_the_verdict_is_open() -> None:
    # 2 x 1.7 cycles on four lanes are 0.85 ns of conversions for 1 ns of bytes: a gain, unless the
    # unit is 20 % slower.
    usual = load("tiny")
    cycles = {**usual.vector.cycles_per_op, "quantise": 1.7}
    vector = msgspec.structs.replace(usual.vector, cycles_per_op=cycles)
    uncertain = msgspec.structs.replace(usual.uncertainty, compute=0.2)
    thin = case(AT_BOUND, msgspec.structs.replace(usual, vector=vector, uncertainty=uncertain))
    proposal, *_ = precision.propose(thin)
    proof = prove(thin, proposal)
    assert proof is not None
    assert proof.state == "indeterminate"
    assert proof.depends_on


@pytest.mark.parametrize(
    ("name", "wide", "narrow", "multiplied"),
    [
        ("tpu_v6e", "f32", "bf16", "bf16"),
        ("tpu_v6e", "bf16", "f8E4M3FN", "bf16"),
        ("mi300x", "bf16", "f8E4M3FNUZ", "f8E4M3FNUZ"),
        ("a100", "f32", "bf16", "bf16"),
        ("h100", "bf16", "f8E4M3FN", "f8E4M3FN"),
        ("xdna2", "f32", "bf16", "bf16"),
    ],
)
def test_the_narrower_type_is_one_that_the_matrix_unit_can_run(
    name: str, wide: str, narrow: str, multiplied: str
) -> None:
    proposal, *_ = precision.propose(case(matmul(1, 4096, 4096, wide), name))
    assert proposal.suggestion.startswith(f"{narrow} operands")
    assert (f"multiplied as {multiplied}" in proposal.suggestion) is (multiplied != narrow)


def test_a_product_of_16_bits_at_its_bound_passes_unless_bytes_are_the_bound() -> None:
    # xdna2 stores f8 and multiplies bf16: one row moves half the bytes, a large square none the
    # less does as many multiply-adds at the same rate. mi300x multiplies f8 at twice the rate.
    thin = case(matmul(1, 4096, 4096, "bf16"), "xdna2")
    proposal, *_ = precision.propose(thin)
    proof = prove(thin, proposal)
    assert proof is not None
    assert proof.low > 1.5
    assert list(precision.propose(case(matmul(8192, 8192, 8192, "bf16"), "xdna2"))) == []
    assert list(precision.propose(case(matmul(16384, 16384, 16384, "bf16"), "mi300x"))) == []


def test_f32_at_its_bound_is_told_of_a_faster_type() -> None:
    # mi300x: 1024 multiply-adds a cycle in bf16, 128 in f32.
    wide = case(matmul(4096, 4096, 4096), "mi300x")
    assert wide.run.time_ps <= 1.05 * wide.run.bounds.bound_ps
    proposal, *_ = precision.propose(wide)
    proof = prove(wide, proposal)
    assert proof is not None
    assert 4 < proof.low <= proof.speedup < 1024 / 128


def test_every_rule_explains_itself() -> None:
    for rule in RULES:
        for heading in ("What it checks:", "Why it matters:", "Example:", "What to do:"):
            assert heading in rule.explanation, rule.name


@pytest.mark.parametrize("name", ["tpu_v6e", "mi300x", "xdna2"])
def test_relaxing_a_resource_never_makes_the_same_tiles_slower(name: str) -> None:
    from xpu_shark.simulator.simulate import run_bound

    target = load(name)
    usual = case(matmul(300, 200, 700, "bf16"), name)
    for _, free in relaxed(target):
        assert run_bound(usual.kernel, usual.run.plan, free).time_ps <= usual.run.time_ps


def test_moved_targets_cover_both_ends_of_every_range() -> None:
    target = load("a100")
    rates = {each.memory[0].bytes_per_s / target.memory[0].bytes_per_s for each in moved(target)}
    assert rates == {1 - target.uncertainty.bandwidth, 1.0, 1 + target.uncertainty.bandwidth}


def finding(saved: int, dispatch: str, *others: str, state: str = "active") -> Finding:
    run = case(matmul(4, 4, 4), "tiny").run
    return Finding(
        id=f"{dispatch}{saved}",
        rule="tiling",
        category="xpu-shark.tiling",
        function="main",
        dispatch=dispatch,
        others=others,
        location="",
        state=state,
        condition="",
        measured="",
        speedup=1.5,
        speedup_low=1.4,
        speedup_high=1.6,
        saved_ps=saved,
        share=0.1,
        suggestion="",
        confidence="high",
        before=(run,),
        after=(run,),
    )


def test_suggestions_for_one_dispatch_share_one_budget() -> None:
    both = [finding(50, "a"), finding(80, "a"), finding(30, "b")]
    assert budget(both) == 80 + 30


def test_a_fusion_uses_up_every_dispatch_that_it_joins() -> None:
    assert budget([finding(100, "a", "b"), finding(60, "b"), finding(20, "c")]) == 100 + 20


def test_what_is_not_certain_is_not_promised() -> None:
    assert budget([finding(100, "a", state="indeterminate"), finding(7, "a")]) == 7


def test_a_thorough_search_tries_integers_and_4_bits_where_bytes_are_the_limit() -> None:
    # One row times a matrix of 2 n n bytes: i8 has half of them, 4 bits a quarter of the weights'.
    n = 4096
    thin = replace(case(matmul(1, n, n, "bf16"), "a100"), thorough=True)
    f8, i8, packed = precision.propose(thin)
    assert "i8 operands" in i8.suggestion
    assert "in 4 bits" in packed.suggestion
    sizes = [compulsory_bytes(proposal.launches[0][0]) for proposal in (f8, i8, packed)]
    rows, result = n, compulsory_bytes(thin.kernel) - 2 * (n * n + n)
    assert sizes == [n * n + rows + result] * 2 + [n * n // 2 + 2 * rows + result]
    # Arithmetic is the limit of the square: nothing that only takes bytes away.
    square = replace(case(matmul(n, n, n, "bf16"), "a100"), thorough=True)
    assert not any("4 bits" in proposal.suggestion for proposal in precision.propose(square))
