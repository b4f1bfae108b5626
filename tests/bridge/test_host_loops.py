"""Trip counts and loop-carried values: a fill of one byte marks what a loop repeats."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from xpu_shark.passes.bridge.read_host import read_functions
from xpu_shark.simulator.symbolic import evaluate
from xpu_shark.simulator.workload import Choice, Command, Move, Repeat

MODULE = """
util.func public @f(%r: !stream.resource<transient>, %n: index, %b: i1) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c10 = arith.constant 10 : index
  %zero = arith.constant 0 : i8
  {body}
}}
"""


def fill(length: str) -> str:
    return f"""stream.cmd.execute with(%r as %p: !stream.resource<transient>{{%n}}) {{
      stream.cmd.fill %zero, %p[%c0 for {length}] : i8 -> !stream.resource<transient>{{%n}}
    }} => !stream.timepoint"""


def read(body: str) -> tuple[Command, ...]:
    with ir.Context():
        (function,) = read_functions(ir.Module.parse(MODULE.format(body=body)).operation)
        return function.body


def loop(body: str) -> Repeat:
    (repeat,) = read(body)
    assert isinstance(repeat, Repeat)
    return repeat


def while_loop(start: str, test: str, advance: str) -> str:
    """`for (i = start; test; i = advance)` with the test at the head."""
    return f"""
  cf.br ^head({start} : index)
^head(%i: index):
  %t = {test}
  cf.cond_br %t, ^body, ^exit
^body:
  {fill("%c1")}
  %next = {advance}
  cf.br ^head(%next : index)
^exit:
  util.return"""


def do_while_loop(start: str, test: str) -> str:
    """`do i += 3 while (test)`, the test on %i or %next."""
    return f"""
  cf.br ^body({start} : index)
^body(%i: index):
  {fill("%c1")}
  %next = arith.addi %i, %c3 : index
  %t = {test}
  cf.cond_br %t, ^body(%next : index), ^exit
^exit:
  util.return"""


@pytest.mark.parametrize(
    ("test", "advance", "trips"),
    [
        # 0, 3, 6, 9
        ("arith.cmpi slt, %i, %c10 : index", "arith.addi %i, %c3 : index", 4),
        ("arith.cmpi ult, %i, %c10 : index", "arith.addi %c3, %i : index", 4),
        ("arith.cmpi sgt, %c10, %i : index", "arith.addi %i, %c3 : index", 4),
        # 0, 1, 2, ..., 10
        ("arith.cmpi sle, %i, %c10 : index", "arith.addi %i, %c1 : index", 11),
        # 0, 1, 2, ..., 9
        ("arith.cmpi ne, %i, %c10 : index", "arith.addi %i, %c1 : index", 10),
        # 10 is never below 0: the bound comes first
        ("arith.cmpi slt, %i, %c0 : index", "arith.addi %i, %c1 : index", 0),
    ],
)
def test_counting_up_to_a_constant(test: str, advance: str, trips: int) -> None:
    assert loop(while_loop("%c0", test, advance)).trips == trips


def test_counting_down() -> None:
    # 10, 7, 4, 1
    repeat = loop(
        while_loop("%c10", "arith.cmpi sgt, %i, %c0 : index", "arith.subi %i, %c3 : index")
    )
    assert repeat.trips == 4


def test_a_loop_that_leaves_on_true_counts_the_opposite_test() -> None:
    repeat = loop(f"""
  cf.br ^head(%c0 : index)
^head(%i: index):
  %t = arith.cmpi sge, %i, %c10 : index
  cf.cond_br %t, ^exit, ^body
^body:
  {fill("%c1")}
  %next = arith.addi %i, %c3 : index
  cf.br ^head(%next : index)
^exit:
  util.return""")
    assert repeat.trips == 4  # 0, 3, 6, 9


def test_a_test_on_the_next_value_runs_the_body_once_more() -> None:
    # bodies at 0, 3, 6, 9; next values 3, 6, 9 pass, 12 does not
    repeat = loop(do_while_loop("%c0", "arith.cmpi slt, %next, %c10 : index"))
    assert repeat.trips == 4


def test_a_test_on_the_old_value_at_the_end_of_the_body() -> None:
    # bodies at 0, 3, 6, 9 pass their test, the one at 12 does not
    assert loop(do_while_loop("%c0", "arith.cmpi slt, %i, %c10 : index")).trips == 5


def test_a_body_that_tests_last_runs_at_least_once() -> None:
    assert loop(do_while_loop("%c10", "arith.cmpi slt, %next, %c0 : index")).trips == 1


def test_a_bound_that_is_an_input_gives_a_size_over_it() -> None:
    repeat = loop(while_loop("%c0", "arith.cmpi slt, %i, %n : index", "arith.addi %i, %c3 : index"))
    assert not isinstance(repeat.trips, int)
    assert evaluate(repeat.trips, {"input1": 10}) == 4  # 0, 3, 6, 9
    assert evaluate(repeat.trips, {"input1": 0}) == 0


@pytest.mark.parametrize(
    ("test", "advance"),
    [
        ("arith.cmpi slt, %i, %c10 : index", "arith.muli %i, %c3 : index"),
        ("arith.cmpi sgt, %i, %c10 : index", "arith.addi %i, %c3 : index"),
        ("arith.cmpi slt, %i, %i : index", "arith.addi %i, %c1 : index"),
        ("arith.addi %b, %b : i1", "arith.addi %i, %c1 : index"),
    ],
)
def test_what_does_not_count_towards_a_bound_is_a_symbol(test: str, advance: str) -> None:
    repeat = loop(while_loop("%c0", test, advance))
    assert (str(repeat.trips), repeat.name) == ("f.loop0", "f.loop0")


def test_a_loop_with_two_ways_out_has_unknown_trips() -> None:
    repeat = loop(f"""
  cf.br ^head(%c0 : index)
^head(%i: index):
  %t = arith.cmpi slt, %i, %c10 : index
  cf.cond_br %t, ^body, ^exit
^body:
  {fill("%c1")}
  %next = arith.addi %i, %c3 : index
  cf.cond_br %b, ^head(%next : index), ^exit
^exit:
  util.return""")
    assert str(repeat.trips) == "f.loop0"


def test_what_stands_before_the_test_runs_once_more() -> None:
    body = read(f"""
  cf.br ^head(%c0 : index)
^head(%i: index):
  {fill("%c3")}
  %t = arith.cmpi slt, %i, %c10 : index
  cf.cond_br %t, ^body, ^exit
^body:
  {fill("%c1")}
  %next = arith.addi %i, %c3 : index
  cf.br ^head(%next : index)
^exit:
  util.return""")
    repeat, last = body
    assert isinstance(repeat, Repeat)
    assert isinstance(last, Move)
    assert (repeat.trips, last.bytes) == (4, 3)
    assert [move.bytes for move in repeat.body if isinstance(move, Move)] == [3, 1]


def test_a_counter_is_linear_in_the_number_of_the_turn() -> None:
    repeat = loop(f"""
  cf.br ^head(%c10 : index)
^head(%i: index):
  %t = arith.cmpi slt, %i, %n : index
  cf.cond_br %t, ^body, ^exit
^body:
  {fill("%i")}
  %next = arith.addi %i, %c3 : index
  cf.br ^head(%next : index)
^exit:
  util.return""")
    (move,) = repeat.body
    assert isinstance(move, Move)
    assert evaluate(move.bytes, {"f.iv0": 2}) == 16  # 10, 13, 16


def test_carried_values_that_stay_are_their_start_and_others_a_symbol() -> None:
    repeat = loop(f"""
  cf.br ^head(%c0, %n, %c10 : index, index, index)
^head(%i: index, %same: index, %other: index):
  %t = arith.cmpi slt, %i, %c10 : index
  cf.cond_br %t, ^body, ^exit
^body:
  {fill("%same")}
  {fill("%other")}
  %next = arith.addi %i, %c3 : index
  %twice = arith.muli %other, %c3 : index
  cf.br ^head(%next, %same, %twice : index, index, index)
^exit:
  util.return""")
    assert [str(m.bytes) for m in repeat.body if isinstance(m, Move)] == ["input1", "f.iv0.arg2"]


def test_loops_number_in_program_order_and_empty_ones_do_not_count() -> None:
    first, second = read(f"""
  cf.br ^empty
^empty:
  cf.cond_br %b, ^empty, ^one
^one:
  {fill("%c1")}
  cf.cond_br %b, ^one, ^two
^two:
  {fill("%c1")}
  cf.cond_br %b, ^two, ^exit
^exit:
  util.return""")
    assert isinstance(first, Repeat)
    assert isinstance(second, Repeat)
    assert (first.name, second.name) == ("f.loop0", "f.loop1")


def test_structured_loops_and_branches_read_the_same() -> None:
    repeat = loop(f"""
  scf.for %i = %c0 to %c10 step %c3 {{
    scf.if %b {{
      {fill("%i")}
    }}
  }}
  util.return""")
    (choice,) = repeat.body
    assert isinstance(choice, Choice)
    (move,), nothing = choice.arms
    assert isinstance(move, Move)
    assert (repeat.trips, choice.name, nothing) == (4, "f.branch0", ())
    assert evaluate(move.bytes, {"f.iv0": 2}) == 6


def test_a_structured_while_runs_its_test_once_more() -> None:
    repeat, last = read(f"""
  scf.while : () -> () {{
    {fill("%c3")}
    scf.condition(%b)
  }} do {{
    {fill("%c1")}
    scf.yield
  }}
  util.return""")
    assert isinstance(repeat, Repeat)
    assert isinstance(last, Move)
    assert [m.bytes for m in repeat.body if isinstance(m, Move)] == [3, 1]
    assert last.bytes == 3
