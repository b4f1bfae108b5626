"""Fusion edges of whole programs at O1, next to what IREE fuses itself at O2.

The edges were read off IREE's dispatches at both levels; launch counts at O1 and O2 with them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from xpu_shark.compiler.workload_main import Program
from xpu_shark.passes.advise.partition import merged
from xpu_shark.passes.advise.sites import Site

INPUTS = Path(__file__).parents[1] / "inputs" / "fusion"
CPU = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
pytestmark = pytest.mark.slow

# Program, dispatches at O1 and at O2, edges that O2 fuses, by number of the dispatch.
LAYER_NORM = {(0, 1), (0, 6), (1, 6), (5, 6), (6, 8), (2, 4), (2, 9)}
PROGRAMS = [
    ("layer_norm_backward", 10, 4, LAYER_NORM),
    # Both layer norms share executables 0 and 1; a transpose goes into the product that reads it.
    ("gpt2_block", 17, 14, {(0, 1), (6, 9)}),
    # Besides one in the initializer, which is no function.
    ("moe_capacity", 12, 11, {(6, 7)}),
    ("resnet18", 32, 32, set()),
    ("sdpa", 3, 3, set()),
]


def program(name: str, level: str) -> Program:
    command = [sys.executable, "-m", "xpu_shark.compiler.workload_main", "sites", "", *CPU]
    path = str(INPUTS / f"{name}.mlir")
    done = subprocess.run(
        [*command, path, f"--iree-opt-level={level}"], capture_output=True, check=True
    )
    return msgspec.msgpack.decode(done.stdout, type=Program)


def number(site: Site) -> int:
    found = re.search(r"_dispatch_(\d+)", site.name)
    assert found
    return int(found[1])


@pytest.mark.parametrize(("name", "at_o1", "at_o2", "edges"), PROGRAMS)
def test_edges_named_are_those_that_o2_fuses(
    name: str, at_o1: int, at_o2: int, edges: set[tuple[int, int]]
) -> None:
    before, after = program(name, "O1").sites, program(name, "O2").sites
    assert (len(before), len(after)) == (at_o1, at_o2)
    groups = list(merged(before, after))
    named = {(number(before[a]), number(before[b])) for group in groups for a, b in group.edges}
    assert named == edges
    fewer = sum(len(group.before) - len(group.after) for group in groups)
    assert fewer == at_o1 - at_o2
    assert list(merged(after, after)) == []
