"""Lines that a nest of loops misses, counted by hand and by a cache that is run line by line."""

from __future__ import annotations

from collections import OrderedDict
from itertools import product

import pytest

from tests.simulator.kernels import matmul
from xpu_shark.simulator.bind import BoundKernel, bind
from xpu_shark.simulator.reuse_distance import Cache, Loop, misses, touched

M, N, K = 8, 16, 64
# m in one tile, n in tiles of 8, k in steps of 8: as llvm-cpu runs a workgroup.
LOOPS = (Loop(0, 8, 1), Loop(1, 8, 2), Loop(2, 8, 8))


def _product(n: int = N, k: int = K) -> BoundKernel:
    return bind(matmul(M, n, k), {})


@pytest.mark.parametrize(
    ("operand", "small", "large"),
    [
        # A: 8 rows of 4 lines, a half of each in one step of k, again for each tile of n.
        (0, 2 * 8 * 8, 8 * 4),
        # B: 64 rows of one line, of which each tile of n uses a half.
        (1, 2 * 64, 64),
    ],
)
def test_what_does_not_fit_is_missed_in_every_turn(operand: int, small: int, large: int) -> None:
    kernel = _product()
    access = kernel.nests[0].reads[operand]
    assert misses(kernel, kernel.nests[0], access, LOOPS, Cache(64, 4, 2)) == small
    assert misses(kernel, kernel.nests[0], access, LOOPS, Cache(64, 64, 4)) == large


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
@pytest.mark.parametrize(("sets", "ways"), [(16, 1), (16, 8), (64, 2)])
def test_an_operand_alone_misses_as_in_a_cache_that_is_run(
    row_lines: int, sets: int, ways: int
) -> None:
    """B is walked column tile by column tile, twice; least recently used lines leave first."""
    kernel = bind(matmul(2 * M, 16 * row_lines, K), {})
    nest = kernel.nests[0]
    alone = kernel.__class__(
        kernel.name,
        kernel.tensors,
        (nest.__class__(**{**_fields(nest), "reads": nest.reads[1:], "writes": ()}),),
        kernel.axes,
        kernel.online,
        kernel.backend,
    )
    tiles = 2 * row_lines
    loops = (Loop(0, 8, 2), Loop(1, 8, tiles), Loop(2, 8, 8))
    counted = misses(alone, alone.nests[0], nest.reads[1], loops, Cache(64, sets, ways))
    lines = ((k * row_lines + n // 2) for _, n, k in product(range(2), range(tiles), range(K)))
    run = _run(lines, sets, ways)
    # Between "kept" and "lost" lies what a cache keeps of a loop that nearly fits.
    assert counted == run or run <= counted <= 2 * tiles * K


def _fields(nest: object) -> dict[str, object]:
    return {name: getattr(nest, name) for name in nest.__struct_fields__}  # type: ignore[attr-defined]


def _run(lines: object, sets: int, ways: int) -> int:
    kept: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(sets)]
    missed = 0
    for line in lines:  # type: ignore[attr-defined]
        place = kept[line % sets]
        if line in place:
            place.move_to_end(line)
            continue
        missed += 1
        place[line] = None
        if len(place) > ways:
            place.popitem(last=False)
    return missed
