"""Collectives of real per-device programs: how many, of how many bytes, by whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from test_host_programs import INPUTS, ONE_DEVICE, PROGRAMS, read

from xpu_shark.simulator.workload import Choice, Collective, Command, Concurrent, Repeat

FOLDER = PROGRAMS / "collectives"
EIGHT = (tuple(range(8)),)
AROUND = tuple((rank, (rank + 1) % 8) for rank in range(8))
Row = tuple[str, int]  # kind, bytes: the result of a gather, the input of a reduction
# Counted by hand in the StableHLO, with 4 bytes an f32.
COUNTS: dict[str, dict[Row, int]] = {
    "ag_then_slice_waste": {("all_gather", 32 * 1024 * 4): 1},
    "dp_grad_allreduce": {("all_reduce", 256 * 256 * 4): 1},
    "fsdp_train_step_ag_rs": {
        ("all_gather", 256 * 512 * 4): 2,  # 256 x 512 and 512 x 256
        ("reduce_scatter", 256 * 512 * 4): 2,
        ("all_reduce", 4): 1,
    },
    "llama_block_tp8": {("all_reduce", 64 * 1024 * 4): 2},
    "many_small_allreduces": {("all_reduce", 8 * 16 * 4): 16},
    "ring_attention_ppermute": {("send_recv", 4 * 64 * 64 * 4): 2 * 8},  # in a loop of 8 turns
    "tp_mlp_allreduce": {("all_reduce", 32 * 512 * 4): 1},
}


def collectives(body: tuple[Command, ...], times: int = 1) -> Iterator[tuple[Collective, int]]:
    """Every collective and how often it runs; branches are not counted."""
    for command in body:
        assert not isinstance(command, Choice)
        if isinstance(command, Collective):
            yield command, times
        elif isinstance(command, Concurrent):
            yield from collectives(command.body, times)
        elif isinstance(command, Repeat):
            assert isinstance(command.trips, int)
            yield from collectives(command.body, times * command.trips)


def test_groups_of_a_program_keep_their_devices() -> None:
    (function,) = read(INPUTS / "strided_groups.mlir", *ONE_DEVICE)
    found = [item for item, _ in collectives(function.body)]
    # 8 x 16 f32 in four groups of two, then the same in two groups of unequal size.
    assert [(item.kind, item.bytes) for item in found] == [("all_reduce", 512)] * 2
    assert found[0].groups == ((0, 4), (1, 5), (2, 6), (3, 7))
    assert found[1].groups == ((0, 1, 2, 3, 4), (5, 6, 7))
    assert [item.group for item in found] == [2, 5]


@pytest.mark.skipif(not FOLDER.exists(), reason="the collection of real programs is not here")
@pytest.mark.parametrize("name", COUNTS)
def test_collectives_of_a_real_program_are_as_counted_by_hand(name: str) -> None:
    functions = read(FOLDER / f"jax__{name}_perdevice.mlir", *ONE_DEVICE)
    found = [row for function in functions for row in collectives(function.body)]
    count: Counter[Row] = Counter()
    for item, times in found:
        assert isinstance(item.bytes, int)
        count[item.kind, item.bytes] += times
        assert item.element == "f32"
        assert item.reduction == ("sum" if "reduce" in item.kind else "")
        assert item.group == 8
        assert item.groups == EIGHT
        assert item.pairs == (AROUND if item.kind == "send_recv" else ())
        assert not item.problem
    assert count == COUNTS[name]
