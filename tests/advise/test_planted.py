"""Faults planted on purpose: each is blamed on its cause, and a neighbour without it is not."""

from __future__ import annotations

import pytest
from cases import case
from kernels import matmul as matmul_kernel
from kernels import pinned
from modules import advise, doubled, every_second, matmul, quantised_gemv

from xpu_shark.passes.advise.prove import prove
from xpu_shark.passes.advise.rules import overlap, reread
from xpu_shark.passes.annotate import wording
from xpu_shark.simulator.result import Dispatch, Finding, Report
from xpu_shark.simulator.simulate import WITHIN_BOUND, KernelRun


def only(report: Report) -> tuple[Dispatch, KernelRun]:
    [dispatch] = report.dispatches
    assert dispatch.run is not None
    return dispatch, dispatch.run


def rules(report: Report) -> list[str]:
    return [finding.rule for finding in report.findings]


def best(report: Report) -> Finding:
    return report.findings[0]


def test_an_operand_read_three_times_is_named_and_kept() -> None:
    # tiny: three tiles of 16 rows, and columns in tiles of 16: B comes once for each tile of
    # rows, A once: 3 x 64 KiB + 6 KiB, and 96 KiB of C.
    slow = case(matmul_kernel(48, 512, 32, tiles=(16, 16, 32)), "tiny")
    assert slow.run.bytes["hbm"] == 3 * (32 * 512 * 4) + 48 * 32 * 4 + 48 * 512 * 4
    [proposal] = reread.propose(slow)
    assert "the 32x512xf32 operand loaded 3 times" in proposal.condition
    proof = prove(slow, proposal)
    assert proof is not None
    assert proof.state == "active"
    assert proof.after[0].bytes["hbm"] == 32 * 512 * 4 + 48 * 32 * 4 + 48 * 512 * 4
    kept = case(matmul_kernel(48, 512, 32, tiles=(48, 16, 32)), "tiny")
    assert list(reread.propose(kept)) == []


def test_a_single_buffer_is_named_and_a_second_proved_faster() -> None:
    # 8 KiB in and 8 KiB out are all of tiny's scratchpad; half of that leaves room for two each.
    single = case(pinned((65536,), (2048,)), "tiny")
    condition = [p for p in overlap.propose(single) if "single buffer" in p.condition]
    assert len(condition) == 1
    proof = prove(single, condition[0])
    assert proof is not None
    assert proof.state == "active"
    double = case(pinned((65536,), (1024,)), "tiny")
    assert not [p for p in overlap.propose(double) if "single buffer" in p.condition]


def test_a_gemv_on_4_bit_weights_is_blamed_on_their_conversion_where_that_decides() -> None:
    # tiny has 4 lanes: it converts longer than it loads, which takes half a byte a weight.
    report = advise(quantised_gemv(512), "tiny")
    assert (best(report).rule, best(report).state) == ("conversion", "active")
    assert "conversion" not in rules(advise(matmul(1, 512, 512), "tiny"))
    # The vector unit of a TPU converts beside the array, in less time than the weights load.
    _, run = only(advise(quantised_gemv(4096), "tpu_v6e"))
    busy = {stream.name: stream.busy_ps for stream in run.streams}
    assert run.bytes["hbm"] < 4096 * 4096 // 2 * 1.01
    assert busy["vector"] < busy["load.hbm"]
    assert wording.wait(run).startswith("the matrix unit waits for hbm loads")


def test_advice_on_a_4_bit_gemv_is_never_wider_weights_where_bytes_are_the_limit() -> None:
    report = advise(quantised_gemv(4096), "tpu_v6e")
    assert "conversion" not in rules(report)
    assert "precision" not in rules(report)


def test_a_long_reduction_into_one_tile_is_split_over_idle_cores() -> None:
    report = advise(matmul(33, 33, 900_000, "f32"), "mi300x")
    assert best(report).rule == "split_reduction"
    assert "on 304 cores" in best(report).condition
    assert best(report).speedup_low > 10
    # A result with tiles for every core has no idle ones to give the reduction to.
    assert "split_reduction" not in rules(advise(matmul(4096, 4096, 4096), "mi300x"))


def test_prime_sizes_are_blamed_on_padding() -> None:
    _, run = only(advise(matmul(127, 137, 131), "tpu_v6e"))
    # Rows stream one by one; columns and reduction fill the 256 x 256 array in part.
    assert run.edges.padded_share == pytest.approx(1 - 137 * 131 / 256**2)
    assert "72 % of the matrix unit's work is padding" in limits(matmul(127, 137, 131))
    assert "padding" not in limits(matmul(128, 256, 256))


def limits(text: str) -> str:
    report = advise(text, "tpu_v6e")
    dispatch, _ = only(report)
    return wording.dispatch(dispatch, report.target)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (matmul(16384, 16384, 16384), "mi300x"),
        (doubled(1 << 28), "h100"),
        (doubled(1 << 20), "tiny"),
    ],
)
def test_a_kernel_at_its_bound_gets_no_advice(text: str, target: str) -> None:
    report = advise(text, target)
    _, run = only(report)
    assert run.time_ps <= WITHIN_BOUND * run.bounds.bound_ps
    assert report.findings == ()


@pytest.mark.parametrize("target", ["tpu_v6e", "tpu_v4", "mi300x", "mi210", "a100"])
def test_a_kernel_that_streams_at_the_sustained_rate_gets_no_advice(target: str) -> None:
    """Its memory has nothing left to give, however far the data sheet's rate is."""
    report = advise(doubled(1 << 26), target)
    dispatch, run = only(report)
    assert run.time_ps > WITHIN_BOUND * run.bounds.bound_ps
    assert run.bounds.bound_ps < run.attainable_ps <= run.time_ps
    assert wording.dispatch(dispatch, target).endswith("; the target sustains no more")
    assert report.findings == ()


def test_half_of_the_sustained_rate_is_not_its_best() -> None:
    """Every second element of a row: half of each burst is for nothing."""
    report = advise(every_second(1 << 24), "tpu_v6e")
    _, run = only(report)
    assert not run.at_its_best
    assert "the target sustains no more" not in wording.dispatch(only(report)[0], report.target)


def test_one_program_two_targets_two_pieces_of_advice() -> None:
    """304 cores idle for want of tiles; a single core gains by bf16 at four times the rate."""
    text = matmul(33, 33, 900_000, "f32")
    assert best(advise(text, "mi300x")).rule == "split_reduction"
    one_core = advise(text, "tpu_v6e")
    assert best(one_core).rule == "precision"
    assert "split_reduction" not in rules(one_core)
