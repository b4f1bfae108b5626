"""Edge tiles and padding on `tiny`: one 4x4 array, a tile of m x n x k takes whole 4x4 weights."""

from __future__ import annotations

import pytest
from kernels import elementwise, matmul

from xpu_shark.simulator import target as targets
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.edges import Edges, edges
from xpu_shark.simulator.plan import Tiling

TINY = targets.load("tiny")


def test_tiles_that_divide_the_work_have_no_edge_and_no_padding() -> None:
    assert edges(bind(matmul(8, 8, 8), {}), Tiling((4, 4, 4), (0, 1)), TINY) == Edges(0.0, 0.0)


def test_edge_tiles_have_their_share_of_the_busy_time() -> None:
    # 9 columns in tiles of 4: 4 + 4 + 1. A tile streams its 4 rows through a 4x4 array once,
    # whatever its columns, so the three take equally long and one of them is an edge.
    found = edges(bind(matmul(4, 9, 4), {}), Tiling((4, 4, 4), (0, 1)), TINY)
    assert found.edge_share == pytest.approx(1 / 3)


def test_padding_is_what_the_array_multiplies_beyond_the_work() -> None:
    # 4x9x4 = 144 useful multiply-adds; padded to 12 columns 4x12x4 = 192.
    found = edges(bind(matmul(4, 9, 4), {}), Tiling((4, 4, 4), (0, 1)), TINY)
    assert found.padded_share == pytest.approx(48 / 192)


def test_work_off_the_matrix_unit_has_edges_but_no_padded_multiply_adds() -> None:
    found = edges(bind(elementwise(9, 8), {}), Tiling((4, 8), (0, 1)), TINY)
    assert found.padded_share == 0.0
    assert 0 < found.edge_share < 1 / 3  # 1 of 9 rows, and what the vector unit needs to start


def test_no_work_has_no_shares() -> None:
    assert edges(bind(elementwise(0, 8), {}), Tiling((1, 8), (0, 1)), TINY) == Edges(0.0, 0.0)


def test_a_tile_that_hangs_over_what_was_moved_is_worked_on_as_a_whole_one() -> None:
    # 9 rows come together and are worked on 4 at a time: 4 + 4 + 4, of which 3 are not there.
    found = edges(bind(matmul(9, 4, 4), {}), Tiling((4, 4, 4), (0, 1), moved=(9, 4, 4)), TINY)
    assert found == Edges(edge_share=pytest.approx(1 / 3), padded_share=pytest.approx(3 / 12))


def test_tiles_of_a_transfer_at_the_edge_are_counted_in_it() -> None:
    # 9 rows come as 8 and 1: two whole tiles, and one of which 3 rows are not there.
    found = edges(bind(matmul(9, 4, 4), {}), Tiling((4, 4, 4), (0, 1), moved=(8, 4, 4)), TINY)
    assert found == Edges(edge_share=pytest.approx(1 / 3), padded_share=pytest.approx(3 / 12))
