"""Packs a column of integers so that regular runs cost next to nothing once deflated.

Packed form: zigzag (2n for n >= 0, -2n - 1 below), then the bytes of equal weight together, one
row a byte position, lowest first, without the rows that are all zero. Deflate sees slowly
changing bytes in runs that way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from xpu_shark.compiler.trace.model import UNKNOWN, Column

Packed = NDArray[np.uint8]


def pack(column: Column) -> Packed:
    """An array of shape (bytes needed, len(column))."""
    folded = ((column << 1) ^ (column >> 63)).astype("<u8")
    planes = folded.view(np.uint8).reshape(-1, 8).T
    used = np.flatnonzero(planes.any(axis=1)) if planes.size else np.zeros(0, int)
    return np.ascontiguousarray(planes[: int(used[-1]) + 1 if used.size else 0])


def unpack(packed: Packed, count: int) -> Column:
    """The column of `count` integers. Raises `ValueError` for another shape or type."""
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[0] > 8:
        raise ValueError(f"expected at most 8 rows of bytes, found {packed.shape} {packed.dtype}")
    if packed.shape[1] != count:
        raise ValueError(f"expected {count} columns, found {packed.shape[1]}")
    planes = np.zeros((count, 8), np.uint8)
    planes[:, : packed.shape[0]] = packed.T
    folded = planes.view("<u8").reshape(-1)
    return (folded >> np.uint64(1)).astype(np.int64) ^ -(folded & np.uint64(1)).astype(np.int64)


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
    """The inverse of `gaps`."""
    result = np.full(len(gap_ns), UNKNOWN, np.int64)
    lengths = np.maximum(duration_ns, 0)[timed]
    before = np.concatenate([np.zeros(1, np.int64), lengths[:-1]])[: len(lengths)]
    result[timed] = np.cumsum(gap_ns[timed] + before)
    return result
