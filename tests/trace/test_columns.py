"""Packing of columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xpu_shark.compiler.trace import columns
from xpu_shark.compiler.trace.columns import Packed

INT64 = st.integers(-(2**63), 2**63 - 1)
NONE = np.zeros(0, np.int64)


def test_small_numbers_take_one_row() -> None:
    # folded: 0 -> 0, -1 -> 1, 1 -> 2, 100 -> 200
    packed = columns.pack(np.array([0, -1, 1, 100], np.int64))
    assert packed.rows.tolist() == [[0, 1, 2, 200]]
    assert packed.at.tolist() == []


def test_a_number_that_is_much_larger_is_kept_apart() -> None:
    packed = columns.pack(np.array([*[1] * 100, 10**15], np.int64))
    assert packed.rows.shape == (1, 101)
    assert (packed.at.tolist(), packed.rare.tolist()) == ([100], [10**15])


def test_zeros_and_nothing_take_none() -> None:
    assert columns.pack(np.zeros(5, np.int64)).rows.shape == (0, 5)
    assert columns.pack(np.zeros(0, np.int64)).rows.shape[1] == 0


@settings(derandomize=True, deadline=None)
@given(st.lists(INT64 | st.integers(-300, 300)))
def test_unpacking_gives_back_what_was_packed(values: list[int]) -> None:
    column = np.array(values, np.int64)
    assert columns.unpack(columns.pack(column), len(values)).tolist() == values


def test_a_long_column_is_unpacked_in_pieces_and_as_small_as_it_can_be() -> None:
    column = np.arange(-20_000, 20_000)
    back = columns.unpack(columns.pack(column), len(column))
    assert back.dtype == np.int16
    assert np.array_equal(back, column)


def test_gaps_are_between_timed_launches_only() -> None:
    start = np.array([1000, -1, 1200, 1500], np.int64)
    duration = np.array([100, -1, 300, 10], np.int64)
    gap = columns.gaps(start, duration)
    # 1000 from 0; 1200 - 1100; 1500 - 1500
    assert gap.tolist() == [1000, 0, 100, 0]
    assert columns.starts(gap, duration, start != -1).tolist() == start.tolist()


def test_a_duration_without_a_start_moves_no_other_launch() -> None:
    start = np.array([1000, -1, 1200], np.int64)
    duration = np.array([100, 70, 300], np.int64)
    gap = columns.gaps(start, duration)
    assert columns.starts(gap, duration, start != -1).tolist() == start.tolist()


@pytest.mark.parametrize(
    ("packed", "said"),
    [
        (Packed(np.zeros((1, 2), np.uint8), NONE, NONE), "expected 3 columns, found 2"),
        (Packed(np.zeros((9, 3), np.uint8), NONE, NONE), "at most 8 rows of bytes"),
        (Packed(np.zeros((1, 3), np.uint8), NONE + 3, np.ones(1, np.int64)), "as many places"),
        (Packed(np.zeros((1, 3), np.uint8), np.array([3]), np.array([7])), "places below 3"),
    ],
)
def test_what_cannot_be_is_refused(packed: Packed, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        columns.unpack(packed, 3)
