"""Dispatches that came together, with their runs: which, how often, in words."""

from __future__ import annotations

from cases import case, dispatch
from kernels import elementwise, matmul

from xpu_shark.passes.advise.fusion import describe, groups
from xpu_shark.passes.advise.sites import Site
from xpu_shark.simulator.result import Dispatch, Report

SHORT, LONG = case(matmul(16, 16, 16), "tiny").run, case(elementwise(64, 256), "tiny").run


def report(*dispatches: Dispatch) -> Report:
    return Report(target="tiny", tiling="ir", functions=(), dispatches=dispatches, commands=())


def site(name: str, line: str, *reads: int, function: str = "main") -> Site:
    return Site(function, name, (line,), reads, line)


def test_a_kernel_with_other_neighbours_at_each_place_is_told_apart_by_place() -> None:
    before = report(dispatch("a", SHORT, "1"), dispatch("a", LONG, "2"), dispatch("b", LONG, "3"))
    sites = (site("a", "1"), site("a", "2"), site("b", "3", 1))
    joined = (site("a", "1"), Site("main", "ab", ("2", "3"), (), "2"))
    after = report(dispatch("a", SHORT, "1"), dispatch("ab", SHORT, "2"))
    [group] = groups((before, sites), (after, joined))
    assert group.before_ps == 2 * LONG.time_ps
    assert group.after_ps == SHORT.time_ps
    assert describe(group) == "2 dispatches, a -> b"


def test_equal_layers_are_one_group_with_all_that_they_save() -> None:
    before = report(dispatch("a", LONG, "1", "3"), dispatch("b", LONG, "2", "4"))
    after = report(dispatch("ab", SHORT, "1", "3"))
    sites = (site("a", "1"), site("b", "2", 0), site("a", "3", 1), site("b", "4", 2))
    joined = (
        Site("main", "ab", ("1", "2"), (), "1"),
        Site("main", "ab", ("3", "4"), (0,), "3"),
    )
    [group] = groups((before, sites), (after, joined))
    assert group.sites == (4, 2)
    assert group.saved_ps == 4 * LONG.time_ps - 2 * SHORT.time_ps
    assert describe(group) == "4 dispatches, a -> b"


def test_products_of_one_name_that_pass_nothing_are_counted() -> None:
    before = report(dispatch("q", LONG, "1", "2", "3"))
    after = report(dispatch("qkv", SHORT, "1"))
    sites = (site("q", "1"), site("q", "2"), site("q", "3"))
    joined = (Site("main", "qkv", ("1", "2", "3"), (), "1"),)
    [group] = groups((before, sites), (after, joined))
    assert describe(group) == "3 dispatches of q"
    assert group.before_ps == 3 * LONG.time_ps


def test_a_function_that_another_one_calls_is_found_by_its_dispatches() -> None:
    before = report(dispatch("a", LONG, "1"), dispatch("b", LONG, "2"))
    after = report(dispatch("ab", SHORT, "1"))
    sites = tuple(
        site(n, p, *r, function="main$async") for n, p, r in (("a", "1", ()), ("b", "2", (0,)))
    )
    joined = (Site("main$async", "ab", ("1", "2"), (), "1"),)
    [group] = groups((before, sites), (after, joined))
    assert group.function == "main"
