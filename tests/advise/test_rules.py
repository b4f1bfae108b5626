"""Rules and their proof, on kernels whose best answer can be counted."""

from __future__ import annotations

import msgspec
import pytest
from cases import case
from kernels import elementwise, matmul

from xpu_shark.passes.advise.give_advice import budget
from xpu_shark.passes.advise.prove import prove
from xpu_shark.passes.advise.rules import RULES, precision, split_reduction, tiling
from xpu_shark.passes.advise.rules.split_reduction import split_kernel
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.result import Finding
from xpu_shark.simulator.target import load
from xpu_shark.simulator.variation import moved, relaxed
from xpu_shark.simulator.work import flops


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


@pytest.mark.parametrize("shape", [(4096, 4096, 4096), (16, 16, 128)])
def test_no_split_where_cores_are_full_or_the_reduction_short(shape: tuple[int, ...]) -> None:
    assert list(split_reduction.propose(case(matmul(*shape), "mi300x"))) == []


def test_narrower_operands_halve_bytes_and_pay_for_their_conversion() -> None:
    wide = case(matmul(1024, 1024, 1024), "tpu_v6e")
    [proposal] = precision.propose(wide)
    kernel, _ = proposal.launches[0]
    # Two operand elements are converted for each element of the larger operand.
    assert [w.count for w in kernel.nests[0].work if w.kind == "quantise"] == [2]
    assert {kernel.tensors[0].element, kernel.tensors[1].element} == {"bf16"}
    assert kernel.tensors[2].element == "f32"


@pytest.mark.parametrize(("lanes", "gains"), [(1, False), (4, True)])
def test_a_narrower_type_pays_where_conversions_take_less_than_the_bytes(
    lanes: int, gains: bool
) -> None:
    # One row: each element of B is 4 bytes, 1 ns at 4 bytes a ns; half of that narrow, beside 2
    # conversions at 1 ns a lane. On one lane these take 2 ns, on four 0.5.
    usual = load("tiny")
    vector = msgspec.structs.replace(usual.vector, lanes=lanes)
    thin = case(matmul(1, 64, 64), msgspec.structs.replace(usual, vector=vector))
    proofs = [prove(thin, proposal) for proposal in precision.propose(thin)]
    assert [proof is not None and proof.state == "active" for proof in proofs] == [gains]


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
