"""Kernels as one: what they share is loaded once, what passes between them stays inside."""

from __future__ import annotations

import msgspec
from kernels import elementwise, matmul

from xpu_shark.passes.advise.joined import joined, products_first
from xpu_shark.simulator.bind import BoundKernel, bind
from xpu_shark.simulator.work import compulsory_bytes, flops

M, N, K = 48, 64, 32


def product() -> BoundKernel:
    """A (0) times B (1) is C (2), f32."""
    return bind(matmul(M, N, K), {})


def test_two_products_of_one_operand_load_it_once_in_the_same_loops() -> None:
    two = (product(), product())
    n = two[0].nests[0].axes[1]
    whole = joined(two, [((0, 0), (1, 0))], ties=[((0, n), (1, n))])
    assert whole is not None
    assert flops(whole) == 2 * flops(two[0])
    assert compulsory_bytes(whole) == 2 * compulsory_bytes(two[0]) - 4 * M * K
    assert [axis.extent for axis in whole.axes] == [M, N, K]
    assert [axis.parallel for axis in whole.axes] == [True, True, False]


def test_without_a_tie_the_columns_are_loops_of_their_own() -> None:
    whole = joined((product(), product()), [((0, 0), (1, 0))])
    assert whole is not None
    assert sorted(axis.extent for axis in whole.axes) == [K, M, N, N]


def test_a_result_that_only_the_next_one_reads_stays_inside() -> None:
    first, second = product(), bind(elementwise(M, N), {})
    whole = joined((first, second), [((0, 2), (1, 0))], inside=[(0, 2)])
    assert whole is not None
    both = compulsory_bytes(first) + compulsory_bytes(second)
    assert compulsory_bytes(whole) == both - 2 * 4 * M * N
    assert [axis.extent for axis in whole.axes] == [M, N, K]


def test_tensors_of_other_shapes_are_not_the_same() -> None:
    other = bind(matmul(M, N, 2 * K), {})
    assert joined((product(), other), [((0, 0), (1, 0))]) is None


def test_products_go_first_unless_they_need_what_others_make() -> None:
    first, second = product(), bind(elementwise(M, N), {})
    chain = joined((first, second, product()), [((0, 2), (1, 0)), ((0, 0), (2, 0))])
    assert chain is not None
    kinds = [nest.contraction is not None for nest in products_first(chain).nests]
    assert kinds == [True, True, False]


def test_axes_are_in_the_order_in_which_loops_walk_them() -> None:
    # Tilers cut the last axis last: columns, which lie next to each other.
    plain = bind(elementwise(M, N), {})
    turned = msgspec.structs.replace(
        plain,
        nests=(msgspec.structs.replace(plain.nests[0], axes=(1, 0)),),
        axes=tuple(reversed(plain.axes)),
    )
    whole = joined((turned, plain), [((0, 1), (1, 0))], inside=[(0, 1)])
    assert whole is not None
    assert [axis.extent for axis in whole.axes] == [M, N]
