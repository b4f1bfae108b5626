"""send_recv behind tables by rank is the permutation that it is; tables must agree."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from xpu_shark.passes.bridge.read_host import read_functions
from xpu_shark.simulator.workload import Collective

PROGRAM = """
util.global private @a : !hal.device
util.func public @f(%x: !stream.resource<transient>, %n: index) attributes {{
    iree.abi.stub, stream.affinity = #hal.device.affinity<@a>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant -1 : index
  %low = arith.constant 65535 : i32
  %sixteen = arith.constant 16 : i32
  %ch = stream.channel.create{known} : !stream.channel
  %rank = stream.channel.rank %ch : index
  %to = util.switch index from [{to}] at %rank else %none : index
  %from = util.switch index from [{source}] at %rank else %none : index
  %to32 = arith.index_cast %to : index to i32
  %to16 = arith.andi %to32, %low : i32
  %from32 = arith.index_cast %from : index to i32
  %high = arith.shli %from32, %sixteen : i32
  %param = arith.ori %high, %to16 : i32
  stream.cmd.execute with(%x as %p: !stream.resource<transient>{{%n}}) {{
    stream.cmd.collective<send_recv : f32>[%c64] channel(%ch) param(%param : i32) {{
      ro %p[%c0 for %c64] : !stream.resource<transient>{{%n}},
      wo %p[%c64 for %c64] : !stream.resource<transient>{{%n}}
    }}
  }} => !stream.timepoint
  util.return
}}
"""


KNOWN = " rank(%c0) count(%c4)"


def read(to: str, source: str, known: str = KNOWN) -> tuple[tuple[tuple[int, int], ...], str]:
    with ir.Context():
        module = ir.Module.parse(PROGRAM.format(to=to, source=source, known=known))
        (function,) = read_functions(module.operation)
    (found,) = function.body
    assert isinstance(found, Collective)
    return found.pairs, found.problem


def test_tables_by_rank_are_a_permutation() -> None:
    pairs, problem = read("%c1, %c2, %c3, %c0", "%c3, %c0, %c1, %c2")
    assert pairs == ((0, 1), (1, 2), (2, 3), (3, 0))
    assert not problem


def test_where_nobody_says_how_many_ranks_there_are_the_tables_do() -> None:
    pairs, problem = read("%c1, %c2, %c0", "%c2, %c0, %c1", known="")
    assert pairs == ((0, 1), (1, 2), (2, 0))
    assert not problem


def test_ranks_may_only_send_or_only_receive() -> None:
    pairs, problem = read("%c1, %none, %none, %none", "%none, %c0, %none, %none")
    assert (pairs, problem) == (((0, 1),), "")


@pytest.mark.parametrize(
    ("to", "source", "problem"),
    [
        (
            "%c1, %none, %none, %none",
            "%none, %c2, %none, %none",
            "rank 0 sends to rank 1, which receives from rank 2",
        ),
        (
            "%c1, %none, %none, %none",
            "%none, %none, %none, %none",
            "rank 0 sends to rank 1, which does not receive",
        ),
        (
            "%none, %none, %none, %none",
            "%none, %c0, %none, %none",
            "rank 1 receives from rank 0, which does not send",
        ),
        (
            "%c4, %none, %none, %none",
            "%none, %none, %none, %none",
            "rank 0 sends to rank 4, which is not one of the 4",
        ),
    ],
)
def test_a_send_without_its_receive_is_named(to: str, source: str, problem: str) -> None:
    assert read(to, source) == ((), problem)
