"""Which flags are worth another compile, and what they must gain."""

from __future__ import annotations

import pytest

from xpu_shark.compiler.alternatives import may_change, whole_gain
from xpu_shark.compiler.iree_flags import CommandLine
from xpu_shark.passes.advise.fusion import FLAGS
from xpu_shark.simulator.result import Function, Report

MULTI_USE = "--iree-dispatch-creation-fuse-multi-use"


def report(**times: int | None) -> Report:
    functions = tuple(
        Function(
            name=name,
            location="",
            time_ps=time,
            bound_ps=None,
            serial_ps=None,
            dispatches=0,
            modelled=0,
            launches=0,
            unmodelled=(),
            unknown=(),
        )
        for name, time in times.items()
    )
    return Report(target="tiny", tiling="ir", functions=functions, dispatches=(), commands=())


@pytest.mark.parametrize(
    ("given", "tried"),
    [
        ((), FLAGS[:-1]),
        (("--iree-opt-level=O2",), FLAGS[1:-1]),
        ((f"{MULTI_USE}=false",), FLAGS),
        (("--iree-dispatch-creation-enable-aggressive-fusion",), (*FLAGS[:2], *FLAGS[3:-1])),
    ],
)
def test_a_flag_is_tried_where_it_says_something_else(
    given: tuple[str, ...], tried: tuple[tuple[str, ...], ...]
) -> None:
    command = CommandLine("in.mlir", given)
    assert tuple(flags for flags in FLAGS if may_change(flags, command)) == tried


def test_a_flag_counts_by_what_its_whole_function_gains() -> None:
    assert whole_gain("main", report(main=120), report(main=100)) == 1.2
    # Where a function has no time, or is gone, there is nothing to gain.
    assert whole_gain("main", report(main=None), report(main=100)) == 0
    assert whole_gain("main", report(main=120), report(other=100)) == 0
