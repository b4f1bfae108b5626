"""Lines that a nest of loops misses, counted by hand and by a cache that is run line by line."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import msgspec
import pytest

from tests.simulator.kernels import matmul
from xpu_shark.simulator.bind import BoundKernel, bind
from xpu_shark.simulator.reuse_distance import Cache, Loop, misses, pressure, touched

M, N, K = 8, 16, 64
# m in one tile, n in tiles of 8, k in steps of 8: as llvm-cpu runs a workgroup.
LOOPS = (Loop(0, 8, 1), Loop(1, 8, 2), Loop(2, 8, 8))


def _product(n: int = N, k: int = K) -> BoundKernel:
    return bind(matmul(M, n, k), {})


def _alone(kernel: BoundKernel, operand: int) -> BoundKernel:
    """The kernel with only one operand read and nothing written."""
    nest = msgspec.structs.replace(
        kernel.nests[0], reads=(kernel.nests[0].reads[operand],), writes=()
    )
    return msgspec.structs.replace(kernel, nests=(nest,))


@pytest.mark.parametrize(
    ("operand", "lines", "missed"),
    [
        # A: 8 rows of 4 lines, read again for the second tile of n. Rows are 4 lines apart: a step
        # of k is at 8 lines of one set, and finds half of the other 32 halves of lines again. Of
        # the lines of the first tile of n half are there for the second.
        (0, 8 * 4, 32 + 16 + 32),
        # B: 64 rows of one line, of which each tile of n takes a half.
        (1, 64, 2 * 64 - 16),
    ],
)
def test_of_what_does_not_fit_the_share_that_fits_is_kept(
    operand: int, lines: int, missed: int
) -> None:
    kernel = _alone(_product(), operand)
    access = kernel.nests[0].reads[0]
    assert misses(kernel, kernel.nests[0], access, LOOPS, Cache(64, 64, 4)) == lines
    small = Cache(64, 4, 4)  # 16 lines
    assert misses(kernel, kernel.nests[0], access, LOOPS, small) == missed


@pytest.mark.parametrize(
    ("row_lines", "sets"),
    [(1, 16), (2, 8), (3, 16), (4, 4), (16, 1), (32, 1)],
)
def test_a_stride_leaves_some_of_the_sets(row_lines: int, sets: int) -> None:
    # One line of each of 64 rows that are `row_lines` lines apart, in a cache of 16 sets.
    kernel = _product(n=16 * row_lines)
    access = kernel.nests[0].reads[1]
    column = (Loop(0, 8, 1), Loop(1, 8, 2 * row_lines), Loop(2, 8, 8))
    assert touched(kernel, kernel.nests[0], access, column, 2, Cache(64, 16, 4)).sets == sets


@pytest.mark.parametrize("row_lines", [1, 3, 4, 16])
@pytest.mark.parametrize(("sets", "ways"), [(16, 1), (16, 2), (64, 2)])
def test_columns_miss_as_in_a_cache_that_is_run_and_keeps_what_it_has(
    row_lines: int, sets: int, ways: int
) -> None:
    """B is walked column by column, a line wide, four times over."""
    kernel = _alone(bind(matmul(4 * M, 16 * row_lines, K), {}), 1)
    loops = (Loop(0, 8, 4), Loop(1, 16, row_lines), Loop(2, 8, 8))
    access = kernel.nests[0].reads[0]
    counted = misses(kernel, kernel.nests[0], access, loops, Cache(64, sets, ways))
    walk = (k * row_lines + n for _, n, k in product(range(4), range(row_lines), range(K)))
    assert counted == _run(walk, sets, ways)


def _run(lines: Iterable[int], sets: int, ways: int) -> int:
    """Misses of a cache that fills up and then lets lines pass by."""
    kept: list[set[int]] = [set() for _ in range(sets)]
    missed = 0
    for line in lines:
        place = kept[line % sets]
        if line not in place:
            missed += 1
            if len(place) < ways:
                place.add(line)
    return missed


def test_sums_of_a_product_are_in_registers_while_its_reduction_turns() -> None:
    # Rows of C are 16 lines apart: the 8 of a register tile would fill one set of 4 ways twice.
    kernel = _product(n=16 * 16)
    nest, loops = kernel.nests[0], (Loop(0, 8, 1), Loop(1, 8, 32), Loop(2, 1, K))
    small, result = Cache(64, 16, 4), nest.writes[0]
    assert touched(kernel, nest, result, loops, 3, small).sets == 1
    a, b = nest.reads
    for depth in (2, 3):  # all of the reduction, and a step of it
        alone = pressure(_alone(kernel, 1), _alone(kernel, 1).nests[0], b, loops, depth, small)
        from_a = touched(kernel, nest, a, loops, depth, small)
        most = alone + min(1.0, from_a.lines / (from_a.sets * small.ways))
        assert pressure(kernel, nest, b, loops, depth, small) <= most
    assert pressure(kernel, nest, b, loops, 1, small) > 1  # the next tile of n has other sums
