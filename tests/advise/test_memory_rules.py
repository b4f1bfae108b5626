"""Rules on memory: operands loaded again, spills, copies, layouts, gathers, cuts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases import case
from kernels import access, elementwise, matmul, softmax

from xpu_shark.passes.advise.neighbours import Neighbours
from xpu_shark.passes.advise.prove import prove
from xpu_shark.passes.advise.reloads import passes, spilled
from xpu_shark.passes.advise.rules import gather, layout, reread, spill, standalone_copy, unfuse
from xpu_shark.passes.advise.rules.unfuse import halved
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.estimate import operands
from xpu_shark.simulator.plan import Tiling, phases
from xpu_shark.simulator.residency import Residency
from xpu_shark.simulator.simulate import run_bound
from xpu_shark.simulator.target import load
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import Access, Dim, Index, Kernel, Nest, Tensor, Work


def copy(rows: int, cols: int, order: tuple[int, int] = (1, 0)) -> Kernel:
    """out[i, j] = in[j, i], or in[i, j] with the other order."""
    nest = Nest(
        name="linalg.transpose",
        dims=(Dim(extent=rows, kind="parallel"), Dim(extent=cols, kind="parallel")),
        reads=(access(0, *order),),
        writes=(access(1, 0, 1),),
        work=(),
    )
    shapes = (tuple((rows, cols)[dim] for dim in order), (rows, cols))
    tensors = tuple(Tensor(shape=shape, element="f32", storage="global") for shape in shapes)
    return Kernel(name="copy", tensors=tensors, nests=(nest,))


def picked(rows: int, width: int, count: int) -> Kernel:
    """out[i] = table[ids[i]], rows of `width` elements."""
    ids, out = access(1, 0), access(2, 0, 1)
    row = Access(tensor=0, map=(Index(terms=((0, 1),), indirect=True), Index(terms=((1, 1),))))
    nest = Nest(
        name="gather",
        dims=(Dim(extent=count, kind="parallel"), Dim(extent=width, kind="parallel")),
        reads=(ids, row),
        writes=(out,),
        work=(Work(kind="index", element="index"),),
    )
    tensors = (
        Tensor(shape=(rows, width), element="f32", storage="global"),
        Tensor(shape=(count,), element="i32", storage="global"),
        Tensor(shape=(count, width), element="f32", storage="global"),
    )
    return Kernel(name="gather", tensors=tensors, nests=(nest,))


@pytest.mark.parametrize("kernel", [matmul(48, 64, 32, tiles=(16, 16, 8)), softmax(8, 64)])
def test_operands_of_the_estimate_are_what_a_simulation_moves(kernel: Kernel) -> None:
    target, whole = load("tiny"), bind(kernel, {})
    order = tuple(axis for axis, each in enumerate(whole.axes) if each.parallel)
    for tile in ((16, 16, 8), (8, 32, 16)):
        tiling = Tiling(tile[: len(whole.axes)], order)
        parts = phases(whole, tiling)
        residency = Residency(whole, tiling, target, parts)
        moved = sum(o.bytes * o.times for o in operands(whole, tiling, target, parts, residency))
        assert moved == run_bound(whole, tiling, target).bytes["hbm"]


def test_an_operand_that_every_tile_of_rows_loads_is_kept() -> None:
    # 48 rows in tiles of 16: B comes three times. With all rows in a tile everything comes once.
    again = case(matmul(48, 512, 32, tiles=(16, 16, 32)), "tiny")
    assert passes(again.kernel, again.run.plan, again.target)[1] == 3.0
    [proposal] = reread.propose(again)
    assert "the 32x512xf32 operand loaded 3 times" in proposal.condition
    proof = prove(again, proposal)
    assert proof is not None
    assert proof.after[0].bytes["hbm"] == compulsory_bytes(again.kernel)


def test_a_row_that_passes_in_pieces_is_read_by_each_pass() -> None:
    # The maximum and the exponentials each read x; the sum and the division read local results.
    row = bind(softmax(4, 512), {})
    order = tuple(axis for axis, each in enumerate(row.axes) if each.parallel)
    assert passes(row, Tiling((1, 64), order), load("tiny"))[0] == 2.0
    assert passes(row, Tiling((1, 512), order), load("tiny"))[0] == 1.0


def test_an_operand_that_comes_once_is_left_alone() -> None:
    assert list(reread.propose(case(matmul(48, 256, 32, tiles=(48, 16, 32)), "tiny"))) == []


def test_a_transient_tensor_larger_than_the_scratchpad_gets_smaller_tiles() -> None:
    # The exponentials of a tile of 8 rows are 8 x 1024 x 4 B = 32 KiB of 16; of 2 rows, 8 KiB.
    usual = case(softmax(64, 1024), "tiny")
    order = usual.run.plan.order
    large = Tiling((8, 64), order, "ir")
    run = run_bound(usual.kernel, large, usual.target)
    [proposal] = spill.propose(replace(usual, run=run))
    kernel, tiling = proposal.launches[0]
    assert tiling.tile == (2, 64)
    assert spilled(kernel, large, usual.target) != []
    assert spilled(kernel, tiling, usual.target) == []
    assert "64x1024xf32 transient tensor" in proposal.condition


def test_a_copy_read_in_place_moves_only_its_loads() -> None:
    moves = replace(case(copy(64, 256), "tiny"), find_near=lambda: Neighbours(readers=("next",)))
    [proposal] = standalone_copy.propose(moves)
    proof = prove(moves, proposal)
    assert proof is not None
    assert proof.after[0].bytes["hbm"] * 2 == moves.run.bytes["hbm"]
    works = replace(
        case(elementwise(64, 256), "tiny"), find_near=lambda: Neighbours(readers=("next",))
    )
    assert list(standalone_copy.propose(works)) == []


def test_a_copy_that_nothing_reads_is_somebodys_result() -> None:
    assert list(standalone_copy.propose(case(copy(64, 256), "tiny"))) == []


def test_a_column_in_bursts_of_64_bytes_is_stored_along_the_column() -> None:
    # mi300x: tiles of a few columns, 64 B a burst for each row of a tile.
    down = Nest(
        name="linalg.reduce",
        dims=(Dim(extent=1024, kind="parallel"), Dim(extent=4096, kind="reduction")),
        reads=(access(0, 1, 0),),
        writes=(access(1, 0),),
        work=(Work(kind="add", element="f32"),),
    )
    shapes = ((4096, 1024), (1024,))
    tensors = tuple(Tensor(shape=shape, element="f32", storage="global") for shape in shapes)
    strided = case(Kernel(name="columns", tensors=tensors, nests=(down,)), "mi300x")
    [proposal] = layout.propose(strided)
    assert "the 4096x1024xf32 operand stored with its dimensions in the order [1, 0]" in (
        proposal.suggestion
    )
    proof = prove(strided, proposal)
    assert proof is not None
    # Every element once, and for each tile of columns a burst of sums.
    tiles = 1024 // proposal.launches[0][1].tile[0]
    assert proof.after[0].bytes["hbm"] == 4096 * 1024 * 4 + tiles * 64
    assert list(layout.propose(case(elementwise(1024, 1024), "mi300x"))) == []


def test_all_operands_with_gaps_go_without_them_together() -> None:
    # Even times odd elements of one array: two windows of which every second element is taken.
    every_second = Nest(
        name="generic",
        dims=(Dim(extent=1 << 20, kind="parallel"),),
        reads=tuple(Access(tensor=t, map=(Index(terms=((0, 2),)),)) for t in (0, 1)),
        writes=(access(2, 0),),
        work=(Work(kind="mul", element="f32"),),
    )
    window = Tensor(shape=((2 << 20) - 1,), element="f32", storage="global")
    result = Tensor(shape=(1 << 20,), element="f32", storage="global")
    kernel = Kernel(name="pairs", tensors=(window, window, result), nests=(every_second,))
    strided = case(kernel, "mi300x")
    [proposal] = layout.propose(strided)
    assert "operand each stored without what lies between its elements" in proposal.suggestion
    proof = prove(strided, proposal)
    assert proof is not None
    assert proof.after[0].bytes["hbm"] == 3 * (4 << 20)


def test_picked_rows_next_to_each_other_are_moved_without_waste() -> None:
    # 4096 rows of 16 B in bursts of 64 B, their ids of 4 B and results of 16 B.
    short = case(picked(10000, 4, 4096), "tpu_v6e")
    assert short.run.bytes["hbm"] == 4096 * (64 + 4 + 16)
    [proposal] = gather.propose(short)
    assert "4096 runs of 16 B" in proposal.condition
    after = run_bound(*proposal.launches[0], short.target)
    assert after.bytes["hbm"] == 4096 * (16 + 4 + 16)
    assert list(gather.propose(case(picked(10000, 64, 4096), "tpu_v6e"))) == []


def test_halves_do_the_work_of_the_whole_and_pass_a_tensor_through_memory() -> None:
    whole = bind(softmax(16, 256), {})
    first, second = halved(whole, 2)
    assert flops(first) + flops(second) == flops(whole)
    # x and the maximum's row come in and the exponentials go out; these come back for both others.
    row = 16 * 4
    matrix = 256 * row
    assert compulsory_bytes(first) == matrix + matrix
    assert compulsory_bytes(second) == matrix + matrix
    assert first.axes == second.axes == whole.axes


def test_a_dispatch_of_one_nest_has_nothing_to_cut() -> None:
    assert list(unfuse.propose(case(matmul(64, 64, 64), "tiny"))) == []
