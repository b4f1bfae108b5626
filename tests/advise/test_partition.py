"""Which dispatches another way to form them joins, on sites written by hand."""

from __future__ import annotations

from xpu_shark.passes.advise.partition import merged
from xpu_shark.passes.advise.sites import Site


def site(name: str, *places: str, reads: tuple[int, ...] = ()) -> Site:
    return Site("main", name, places, reads)


def test_a_chain_that_became_one_dispatch_is_one_group_with_its_edges() -> None:
    before = (site("a", "1"), site("b", "2", reads=(0,)), site("c", "3", reads=(0, 1)))
    [group] = merged(before, (site("abc", "1", "2", "3"),))
    assert (group.before, group.after) == ((0, 1, 2), (0,))
    assert group.edges == ((0, 1), (0, 2), (1, 2))


def test_what_stayed_apart_is_in_no_group() -> None:
    before = (site("a", "1"), site("b", "2", reads=(0,)), site("c", "3", reads=(1,)))
    [group] = merged(before, (site("a", "1"), site("bc", "2", "3", reads=(0,))))
    assert (group.before, group.after, group.edges) == ((1, 2), (1,), ((1, 2),))
    assert list(merged(before, before)) == []


def test_a_copied_op_joins_nothing_where_each_site_has_ops_of_its_own() -> None:
    # The cheap op 9 is in every site, before and after: a and b are still two dispatches.
    before = (site("a", "1", "9"), site("b", "2", "9", reads=(0,)))
    after = (site("x", "1", "9"), site("y", "2", "9", reads=(0,)))
    assert list(merged(before, after)) == []


def test_a_producer_copied_into_each_of_its_readers_is_one_dispatch_less() -> None:
    before = (site("p", "1"), site("a", "2", reads=(0,)), site("b", "3", reads=(0,)))
    [group] = merged(before, (site("pa", "1", "2"), site("pb", "1", "3")))
    assert (len(group.before), len(group.after)) == (3, 2)
    assert group.edges == ((0, 1), (0, 2))


def test_an_edge_that_still_passes_a_tensor_is_not_named() -> None:
    # b and c became one, and a gave its last op to it: a's other result still goes there.
    before = (site("a", "1", "2"), site("b", "3", reads=(0,)), site("c", "4", reads=(1,)))
    [group] = merged(before, (site("a", "1"), site("abc", "2", "3", "4", reads=(0,))))
    assert (group.before, group.edges) == ((0, 1, 2), ((1, 2),))


def test_a_transpose_that_became_an_indexing_map_went_to_its_reader() -> None:
    before = (site("t", "1"), site("mm", "2", reads=(0,)))
    [group] = merged(before, (site("mm", "2"),))
    assert (group.before, group.after, group.edges) == ((0, 1), (0,), ((0, 1),))


def test_dispatches_that_lost_some_ops_to_their_reader_still_pass_a_tensor() -> None:
    # a's op 2 moved to the reader; a's op 1 stays, so the edge is still there: no fewer dispatches.
    before = (site("a", "1", "2"), site("b", "3", reads=(0,)))
    after = (site("a", "1"), site("b", "2", "3", reads=(0,)))
    assert list(merged(before, after)) == []


def test_functions_are_kept_apart() -> None:
    before = (Site("f", "a", ("1",), ()), Site("g", "a", ("1",), ()))
    assert list(merged(before, before)) == []


def test_a_product_stays_where_it_reduces_not_where_its_sum_went() -> None:
    # The bias add behind the product (same line) went to the norm; the product is still its own.
    before = (
        site("mm", "1 reduces", "1", "2"),
        site("n0", "3", reads=(0,)),
        site("n1", "3", reads=(1,)),
    )
    after = (site("mm", "1 reduces"), site("n", "1", "2", "3", reads=(0,)))
    [group] = merged(before, after)
    assert (group.before, group.after, group.edges) == ((0, 1, 2), (0, 1), ((1, 2),))


def test_joined_products_are_where_their_readers_read_them() -> None:
    # IREE gave the joined one the first one's place; q goes to a transpose that is still there.
    before = (
        site("norm", "0"),
        site("k", "1 reduces", reads=(0,)),
        site("q", "2 reduces", reads=(0,)),
        site("t", "3", reads=(2,)),
    )
    after = (site("norm", "0"), site("kq", "1 reduces", reads=(0,)), site("t", "3", reads=(1,)))
    [group] = merged(before, after)
    assert (group.before, group.after, group.edges) == ((1, 2), (1,), ())


def test_a_place_that_is_called_twice_is_told_apart_by_order_or_by_what_it_reads() -> None:
    # Two layers of one function: a and b of each become one.
    layer = [(site("a", "1", reads=()), site("b", "2", reads=(0,)))]
    before = (*layer[0], site("a", "1", reads=(1,)), site("b", "2", reads=(2,)))
    after = (site("ab", "1", "2"), site("ab", "1", "2", reads=(0,)))
    assert [(g.before, g.after) for g in merged(before, after)] == [((0, 1), (0,)), ((2, 3), (1,))]
    # Three products at one place become two: of x and y only those that read n are joined.
    before = (site("m", "0"), site("n", "9"), *(site(n, "1 reduces", reads=r) for n, r in READS))
    after = (
        *(site("m", "0"), site("n", "9")),
        *(site("x", "1 reduces", reads=(0,)), site("yz", "1 reduces", reads=(1,))),
    )
    assert [(g.before, g.after) for g in merged(before, after)] == [((3, 4), (3,))]


READS = (("x", (0,)), ("y", (1,)), ("z", (1,)))
