"""Attention on a cache that has the heads of a token beside each other."""

from __future__ import annotations

from math import prod

import msgspec
import pytest
from kernels import access
from test_fused_attention import resident

from xpu_shark.simulator import head_layout
from xpu_shark.simulator.bind import BoundKernel, bind
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import KernelRun, run_bound
from xpu_shark.simulator.target import load
from xpu_shark.simulator.tilers import systolic
from xpu_shark.simulator.workload import Contraction, Dim, Kernel, Nest, Tensor, Work

V6E = load("tpu_v6e")
HEADS, GROUP, TOKENS, KEYS = range(4)  # loops of the products, and axes of the kernel
WIDTH = 128


def served(
    heads: int, group: int, tokens: int, keys: int, width: int = WIDTH, values: int = WIDTH
) -> BoundKernel:
    """Attention of `group` query heads to each of `heads` cached ones, all [token, head, ...].
    Keys are `width` wide, values `values`."""
    rows, square = (heads, group, tokens), (heads, group, tokens, keys)
    queries, result = (tokens, heads, group, width), (tokens, heads, group, values)
    shapes = [(shape, "bf16", "global") for shape in (queries, (keys, heads, width))]
    shapes += [((keys, heads, values), "bf16", "global")]
    shapes += [(square, "f32", "local"), (rows, "f32", "local"), (rows, "f32", "local")]
    shapes += [(square, "bf16", "local"), (result, "bf16", "global")]
    tensors = tuple(Tensor(shape=s, element=e, storage=where) for s, e, where in shapes)

    def dims(*sizes: int) -> tuple[Dim, ...]:
        kinds = ["parallel"] * (len(sizes) - 1) + ["reduction"]
        pairs = zip(sizes, kinds, strict=True)
        return tuple(msgspec.convert({"extent": n, "kind": kind}, Dim) for n, kind in pairs)

    def product(name: str, sizes: tuple[int, ...], *operands: tuple[int, ...]) -> Nest:
        lhs, rhs, out = operands
        roles = Contraction(
            batch=(0,), m=(1, 2), n=(3,), k=(4,), lhs=0, rhs=1,
            lhs_element="bf16", rhs_element="bf16", accumulator="f32",
        )  # fmt: skip
        return Nest(
            name=name,
            dims=dims(*sizes),
            reads=(access(*lhs), access(*rhs)),
            writes=(access(*out),),
            work=(Work(kind="madd", element="f32"),),
            contraction=roles,
        )

    softmax = Nest(
        name="softmax",
        dims=dims(*square),
        reads=(access(3, 0, 1, 2, 3),),
        writes=(access(6, 0, 1, 2, 3), access(4, 0, 1, 2), access(5, 0, 1, 2)),
        work=(Work(kind="max", element="f32"), Work(kind="exp", element="f32")),
    )
    qk = product("qk", (*square, width), (0, 2, 0, 1, 4), (1, 3, 0, 4), (3, 0, 1, 2, 3))
    pv = product("pv", (*rows, values, keys), (6, 0, 1, 2, 4), (2, 4, 0, 3), (7, 2, 0, 1, 3))
    kernel = Kernel(name="served", tensors=tensors, nests=(qk, softmax, pv), online=True)
    return bind(kernel, {})


def default(kernel: BoundKernel) -> KernelRun:
    return run_bound(kernel, systolic.choose(kernel, V6E), V6E)


@pytest.mark.parametrize(
    ("sizes", "tile", "moved"),
    [
        # 4096 keys of 8 heads, twice, are the window of 16 MiB.
        ((8, 4, 1, 131072), (1, 4, 1, 4096), (8, 4, 1, 4096)),
        ((128, 4, 1, 2048), (1, 4, 1, 2048), (8, 4, 1, 2048)),
        ((8, 4, 2048, 2048), (1, 4, 128, 2048), (8, 4, 1024, 2048)),
        ((8, 3, 2048, 2048), (1, 3, 128, 2048), (8, 3, 1280, 2048)),
        ((32, 3, 132, 132), (1, 3, 128, 132), (8, 3, 132, 132)),
        ((4, 8, 100, 5000), (1, 8, 64, 5000), (4, 8, 100, 5000)),
        ((4, 3, 100, 5000), (1, 3, 100, 5000), (4, 3, 100, 5000)),
        ((2, 3, 1, 77), (1, 3, 1, 77), (2, 3, 1, 77)),
        # Eight tokens of 128 query heads are 1024 queries, 4 MiB of eight heads of both operands.
        ((8, 128, 128, 128), (1, 128, 8, 128), (8, 128, 32, 128)),
    ],
)
def test_heads_of_a_register_come_together_and_are_worked_on_one_after_another(
    sizes: tuple[int, ...], tile: tuple[int, ...], moved: tuple[int, ...]
) -> None:
    tiling = systolic.choose(served(*sizes), V6E)
    assert (tiling.tile[:4], (tiling.moved or ())[:4]) == (tile, moved)


def test_a_long_cache_loads_while_the_part_before_it_is_worked_on() -> None:
    """One query: the work is less than the transfer, so only the first step waits for its own."""
    run = default(served(8, 4, 1, 131072))
    moved = run.bytes["hbm"] / V6E.memory[0].bytes_per_s * 1e12
    assert moved < run.time_ps < 1.05 * moved


def test_every_byte_is_loaded_once() -> None:
    for sizes in ((8, 4, 1, 131072), (16, 3, 512, 8192), (24, 4, 132, 132)):
        heads, group, tokens, keys = sizes
        moved = 2 * heads * keys * WIDTH + 2 * heads * group * tokens * WIDTH
        assert default(served(*sizes)).bytes["hbm"] == 2 * moved


def test_a_block_that_hangs_over_the_edge_is_worked_on_as_a_whole_one() -> None:
    times = [
        run_bound(resident(kernel), systolic.choose(kernel, V6E), V6E).time_ps
        for kernel in (served(8, 4, tokens, 256) for tokens in (129, 200, 256))
    ]
    assert times[0] == times[1] == times[2]


@pytest.mark.parametrize(
    ("group", "runs"),
    [(2, 1), (3, 3), (4, 1), (6, 3), (7, 7), (8, 0), (9, 1), (16, 0), (71, 7), (1023, 7)],
)
def test_query_heads_of_a_token_that_fill_no_register_move_in_powers_of_two(
    group: int, runs: int
) -> None:
    tokens, keys = 32, 512
    scores = served(8, group, tokens, keys).nests[0]
    kernel = served(8, group, tokens, keys)
    tile = (1, group, tokens, keys, WIDTH)
    cycles = keys / 8 * V6E.matrix.gather_cycles + tokens * runs * V6E.matrix.run_cycles
    assert head_layout.moves_ps(kernel, scores, V6E, tile) == V6E.ps(cycles)


def test_queries_with_heads_of_their_own_are_gathered_like_keys() -> None:
    kernel = served(8, 1, 32, 512)
    moves = head_layout.moves_ps(kernel, kernel.nests[0], V6E, (1, 1, 32, 512, WIDTH))
    assert moves == V6E.ps((32 + 512) / 8 * V6E.matrix.gather_cycles)


def test_one_token_is_moved_as_a_register_of_them() -> None:
    kernel = served(8, 4, 1, 512)
    one = head_layout.moves_ps(kernel, kernel.nests[0], V6E, (1, 4, 1, 512, WIDTH))
    kernel = served(8, 4, 8, 512)
    assert one == head_layout.moves_ps(kernel, kernel.nests[0], V6E, (1, 4, 8, 512, WIDTH))


def test_values_are_gathered_and_scores_are_in_registers() -> None:
    kernel = served(8, 3, 32, 512)
    moves = head_layout.moves_ps(kernel, kernel.nests[2], V6E, (1, 3, 32, WIDTH, 512))
    assert moves == V6E.ps(512 / 8 * V6E.matrix.gather_cycles)


def test_moving_the_tiles_that_are_worked_on_is_no_other_tiling() -> None:
    kernel = served(4, 2, 64, 512)
    tile = (1, 2, 32, 256, *(axis.extent for axis in kernel.axes[4:]))
    order = tuple(a for a, axis in enumerate(kernel.axes) if axis.parallel)
    plain, same = Tiling(tile, order), Tiling(tile, order, moved=tile)
    one, other = (run_bound(kernel, tiling, V6E) for tiling in (plain, same))
    assert msgspec.structs.replace(other, plan=plain) == one


def test_what_is_worked_on_at_once_changes_no_transfer() -> None:
    kernel = served(4, 2, 64, 512)
    rest = tuple(axis.extent for axis in kernel.axes[4:])
    order = tuple(a for a, axis in enumerate(kernel.axes) if axis.parallel)
    runs = [
        run_bound(kernel, Tiling((heads, 2, tokens, 512, *rest), order, moved=moved), V6E)
        for moved in [(2, 2, 64, 512, *rest)]
        for heads, tokens in ((2, 64), (1, 64), (1, 32), (2, 16))
    ]
    assert len({run.bytes["hbm"] for run in runs}) == 1
    assert len({run.time_ps for run in runs}) == len(runs)
    assert prod(run.flops for run in runs) == runs[0].flops ** len(runs)


@pytest.mark.parametrize(("width", "values"), [(0, WIDTH), (WIDTH, 0)])
@pytest.mark.parametrize("name", ["tpu_v4", "tpu_v6e"])
def test_without_keys_or_values_to_multiply_the_rest_runs(
    name: str, width: int, values: int
) -> None:
    kernel, target = served(8, 4, 64, 64, width, values), load(name)
    run = run_bound(kernel, systolic.choose(kernel, target), target)
    # A maximum and an exponential for each score, and the product that has elements.
    assert run.flops == 8 * 4 * 64 * 64 * (2 + 2 * WIDTH)
