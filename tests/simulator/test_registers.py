"""Registers of a GPU core: what a product adds up, and what is added to it, live there."""

from __future__ import annotations

import msgspec
from kernels import access, matmul, softmax

from xpu_shark.simulator import tiling
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.plan import phases
from xpu_shark.simulator.residency import Residency
from xpu_shark.simulator.target import load
from xpu_shark.simulator.workload import Dim, Kernel, Nest, Tensor, TileLevel, Work

MI300X = load("mi300x")
# A 64 x 64 and B 64 x 128 of f32, the steps of a 64 x 128 x 64 tile.
STEP = 4 * (64 * 64 + 64 * 128)


def with_residual(m: int, n: int, k: int) -> Kernel:
    """A product that stays in the core, and a tensor of its shape added to it."""
    product = matmul(m, n, k, tiles=(64, 128, 64))
    local = msgspec.structs.replace(product.tensors[2], storage="local")
    wide = Tensor(shape=(m, n), element="f32", storage="global")
    add = Nest(
        name="linalg.generic",
        dims=(Dim(extent=m, kind="parallel"), Dim(extent=n, kind="parallel")),
        reads=(access(2, 0, 1), access(3, 0, 1)),
        writes=(access(4, 0, 1),),
        work=(Work(kind="add", element="f32"),),
    )
    tensors = (*product.tensors[:2], local, wide, wide)
    return msgspec.structs.replace(product, tensors=tensors, nests=(*product.nests, add))


def residency(kernel: Kernel, register_bytes: int) -> Residency:
    target = msgspec.structs.replace(MI300X, register_bytes=register_bytes)
    bound = bind(kernel, {})
    chosen = tiling.choose(bound, target, "ir")
    return Residency(bound, chosen, target, phases(bound, chosen, distributed=True))


def test_only_the_steps_of_a_product_take_the_memory_beside_the_core() -> None:
    found = residency(with_residual(256, 256, 256), 512 * 1024)
    # 48 KiB a step, 64 KiB of memory: one buffer, and nothing else in it.
    assert (found.buffers, found.used) == (1, STEP)
    assert found.used <= found.capacity


def test_a_tile_of_sums_larger_than_the_memory_beside_the_core_stays_in_registers() -> None:
    kernel = with_residual(512, 512, 64)
    tiles = (
        TileLevel(name="workgroup", sizes=(256, 128, 0)),
        TileLevel(name="reduction", sizes=(0, 0, 16)),
    )
    nests = (msgspec.structs.replace(kernel.nests[0], tiles=tiles), *kernel.nests[1:])
    found = residency(msgspec.structs.replace(kernel, nests=nests), 512 * 1024)
    assert found.out == set()  # 128 KiB of f32, 64 KiB of memory


def test_without_registers_results_and_residual_take_it_too() -> None:
    # Nothing fits in 64 KiB then, so the product goes out and comes back: its tile written and
    # read, the residual's and the sum's: 4 x 64 x 128 of f32 more.
    found = residency(with_residual(256, 256, 256), 0)
    assert found.used == STEP + 4 * 4 * 64 * 128
    assert found.used > found.capacity


def test_a_reduction_step_of_a_row_sum_is_of_threads_not_of_the_memory() -> None:
    kernel = softmax(64, 1000)
    levels = (
        TileLevel(name="workgroup", sizes=(4, 0)),
        TileLevel(name="reduction", sizes=(0, 1)),
    )
    first = msgspec.structs.replace(kernel.nests[0], tiles=levels, pinned=True)
    bound = bind(msgspec.structs.replace(kernel, nests=(first, *kernel.nests[1:])), {})
    assert tiling.choose(bound, MI300X, "ir").tile == (4, 1000)
    # A core without registers of its own takes the step as the IR says.
    assert tiling.choose(bound, load("tiny"), "ir").tile[1] == 1
