"""Columns of integers as few bytes, and times as differences.

A number is folded (2n for n >= 0, -2n - 1 below) and cut into bytes; bytes of equal weight stand
together, lowest first, in as many rows as make the column smallest. The few numbers that need more
are kept apart, with their places. Nothing is deflated: a reader then needs little more memory than
the file has bytes.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xpu_shark.compiler.trace.model import UNKNOWN, Column

_RARE: Final = 16  # bytes of a number that is kept apart: its place and itself
_CHUNK: Final = 1 << 12  # numbers unpacked at a time, in eight times their bytes


class Packed(NamedTuple):
    """`rows` is uint8 of shape (bytes a number, n); number `at[i]` is `rare[i]` instead."""

    rows: NDArray[Any]
    at: NDArray[Any]
    rare: NDArray[Any]


def pack(values: Column) -> Packed:
    numbers = np.asarray(values, np.int64)
    folded = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    above = [int(np.count_nonzero(folded >> np.uint64(8 * count))) for count in range(8)] + [0]
    count = min(range(9), key=lambda count: count * len(folded) + _RARE * above[count])
    places = np.flatnonzero(folded >> np.uint64(8 * count) if count < 8 else folded[:0])
    rows = folded.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :count].T
    return Packed(np.ascontiguousarray(rows), places.astype(np.int64), numbers[places])


def unpack(packed: Packed, count: int, *, least: int = 1) -> Column:
    """The column of `count` integers, in the smallest type that holds them, of at least `least`
    bytes.

    Raises `ValueError` for another shape or type, or a place outside.
    """
    rows, at, rare = packed
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[0] > 8:
        raise ValueError(f"expected at most 8 rows of bytes, found {rows.shape} {rows.dtype}")
    if rows.shape[1] != count:
        raise ValueError(f"expected {count} columns, found {rows.shape[1]}")
    if at.dtype != np.int64 or rare.dtype != np.int64 or at.shape != rare.shape or at.ndim != 1:
        raise ValueError(f"expected as many places as rare numbers, found {at.shape} {rare.shape}")
    if len(at) and not 0 <= int(at.min()) <= int(at.max()) < count:
        raise ValueError(f"expected places below {count}, found {int(at.max())}")
    if not rows.shape[0] and not len(at):
        return np.broadcast_to(np.int8(0), count)
    return _filled(rows, at, rare, least)


def _filled(rows: NDArray[Any], at: NDArray[Any], rare: NDArray[Any], least: int) -> Column:
    bits = max(8 * len(rows), *(max(n, ~n).bit_length() + 1 for n in rare.tolist()), 8 * least)
    result = np.empty(rows.shape[1], next(f"i{size}" for size in (1, 2, 4, 8) if bits <= 8 * size))
    for first in range(0, len(result), _CHUNK):
        part = rows[:, first : first + _CHUNK]
        folded = np.zeros((part.shape[1], 8), np.uint8)
        folded[:, : len(part)] = part.T
        numbers = folded.view("<u8").reshape(-1)
        signs = -(numbers & np.uint64(1)).astype(np.int64)
        result[first : first + _CHUNK] = (numbers >> np.uint64(1)).astype(np.int64) ^ signs
    result[at] = rare
    return result


def gaps(start_ns: Column, duration_ns: Column) -> Column:
    """Time between the end of the last timed launch and each start; 0 where not timed."""
    timed = start_ns != UNKNOWN
    ends = (start_ns + np.maximum(duration_ns, 0))[timed]
    result = np.zeros(len(start_ns), np.int64)
    result[timed] = (
        start_ns[timed] - np.concatenate([np.zeros(1, np.int64), ends[:-1]])[: len(ends)]
    )
    return result


def starts(gap_ns: Column, duration_ns: Column, timed: NDArray[np.bool_]) -> Column:
    """The inverse of `gaps`, whose array is used up where it has 8 bytes a number: columns may be
    long, so nothing else of their length is made."""
    if not timed.any():
        return np.broadcast_to(np.int64(UNKNOWN), len(gap_ns))
    result = gap_ns.astype(np.int64, copy=not gap_ns.flags.writeable)
    for first in range(0, len(result) - 1, _CHUNK):
        part = slice(first, min(first + _CHUNK, len(result) - 1))
        result[part.start + 1 : part.stop + 1] += np.where(
            timed[part], np.maximum(duration_ns[part], 0), 0
        )
    np.cumsum(result, out=result)
    np.copyto(result, UNKNOWN, where=np.logical_not(timed))
    return result
