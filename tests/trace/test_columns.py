"""Packing of columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xpu_shark.compiler.trace import columns

INT64 = st.integers(-(2**63), 2**63 - 1)


def test_small_numbers_take_one_row() -> None:
    # zigzag: 0 -> 0, -1 -> 1, 1 -> 2, 100 -> 200
    packed = columns.pack(np.array([0, -1, 1, 100], np.int64))
    assert packed.tolist() == [[0, 1, 2, 200]]


def test_zeros_and_nothing_take_none() -> None:
    assert columns.pack(np.zeros(5, np.int64)).shape == (0, 5)
    assert columns.pack(np.zeros(0, np.int64)).shape[1] == 0


@settings(derandomize=True, deadline=None)
@given(st.lists(INT64))
def test_unpacking_gives_back_what_was_packed(values: list[int]) -> None:
    column = np.array(values, np.int64)
    assert columns.unpack(columns.pack(column), len(values)).tolist() == values


def test_gaps_are_between_timed_launches_only() -> None:
    start = np.array([1000, -1, 1200, 1500], np.int64)
    duration = np.array([100, -1, 300, 10], np.int64)
    gap = columns.gaps(start, duration)
    # 1000 from 0; 1200 - 1100; 1500 - 1500
    assert gap.tolist() == [1000, 0, 100, 0]
    assert columns.starts(gap, duration, start != -1).tolist() == start.tolist()


def test_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 3 columns, found 2"):
        columns.unpack(np.zeros((1, 2), np.uint8), 3)
