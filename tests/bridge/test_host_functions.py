from __future__ import annotations

from iree.compiler import ir

from xpu_shark.passes.bridge.read_host import read_functions
from xpu_shark.simulator.workload import Choice, Command, Function, Move, Repeat

R = "!stream.resource<transient>"
PRELUDE = """
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i8
"""


def read(text: str) -> tuple[Function, ...]:
    with ir.Context():
        return read_functions(ir.Module.parse(text).operation)


def fill(length: str) -> str:
    return f"""stream.cmd.execute with(%r as %p: {R}{{{length}}}) {{
      stream.cmd.fill %zero, %p[%c0 for {length}] : i8 -> {R}{{{length}}}
    }} => !stream.timepoint"""


def sizes(body: tuple[Command, ...]) -> list[str]:
    return [str(move.bytes) for move in body if isinstance(move, Move)]


def test_a_function_that_another_public_one_calls_is_read_as_part_of_it() -> None:
    (main,) = read(f"""
util.func public @main$async(%r: {R}, %n: index) {{
  {PRELUDE}
  {fill("%n")}
  util.return
}}
util.func public @main(%r: {R}, %m: index) {{
  %c5 = arith.constant 5 : index
  util.call @main$async(%r, %m) : ({R}, index) -> ()
  util.call @main$async(%r, %c5) : ({R}, index) -> ()
  util.return
}}""")
    assert (main.name, sizes(main.body)) == ("main", ["input1", "5"])


def test_a_call_s_result_is_what_the_callee_returns() -> None:
    (main,) = read(f"""
util.func private @twice(%n: index) -> index {{
  %m = arith.addi %n, %n : index
  util.return %m : index
}}
util.func public @main(%r: {R}) {{
  {PRELUDE}
  %c5 = arith.constant 5 : index
  %n = util.call @twice(%c5) : (index) -> index
  {fill("%n")}
  util.return
}}""")
    assert sizes(main.body) == ["10"]


def test_the_result_of_a_function_from_elsewhere_is_a_symbol() -> None:
    (main,) = read(f"""
util.func private @pick() -> (index, index)
util.func public @main(%r: {R}) {{
  {PRELUDE}
  %n:2 = util.call @pick() : () -> (index, index)
  {fill("%n#1")}
  util.return
}}""")
    assert sizes(main.body) == ["pick.result1"]


def test_recursion_ends_and_every_public_function_of_a_cycle_is_covered_once() -> None:
    (first,) = read(f"""
util.func public @a(%r: {R}, %n: index) {{
  {PRELUDE}
  {fill("%n")}
  util.call @b(%r, %n) : ({R}, index) -> ()
  util.return
}}
util.func public @b(%r: {R}, %n: index) {{
  util.call @a(%r, %n) : ({R}, index) -> ()
  util.return
}}""")
    assert (first.name, sizes(first.body)) == ("a", ["input1"])


def test_functions_without_commands_are_kept_and_names_are_verbatim() -> None:
    functions = read("""
util.func public @"net$fwd été"() { util.return }
util.func private @unused() { util.return }
util.func private @outside()
""")
    assert [(function.name, function.body) for function in functions] == [("net$fwd été", ())]


def test_initializers_with_commands_come_first_and_are_numbered() -> None:
    initializer = f"""
util.initializer {{
  {PRELUDE}
  %c8 = arith.constant 8 : index
  %r = stream.resource.alloc uninitialized : {R}{{%c8}}
  {fill("%c8")}
  util.return
}}"""
    functions = read(f"""
util.func public @main() {{ util.return }}
util.initializer {{ util.return }}
{initializer}
{initializer}""")
    assert [(function.name, sizes(function.body)) for function in functions] == [
        ("initializer", ["8"]),
        ("initializer.1", ["8"]),
        ("main", []),
    ]


def dims(first: str, second: str) -> list[str]:
    (main,) = read(f"""
util.func public @main(%a: !hal.buffer_view, %b: !hal.buffer_view, %r: {R}) {{
  {PRELUDE}
  %type = hal.element_type<f32> : i32
  %dense = hal.encoding_type<dense_row_major> : i32
  hal.buffer_view.assert<%a : !hal.buffer_view> message("{first}") shape([]) type(%type)
    encoding(%dense)
  hal.buffer_view.assert<%b : !hal.buffer_view> message("{second}") shape([]) type(%type)
    encoding(%dense)
  %n = hal.buffer_view.dim<%a : !hal.buffer_view>[0] : index
  %m = hal.buffer_view.dim<%b : !hal.buffer_view>[2] : index
  {fill("%n")}
  {fill("%m")}
  util.return
}}""")
    return sizes(main.body)


def test_a_dim_of_an_input_is_named_after_the_input_s_label() -> None:
    assert dims("tokens", "input1") == ["tokens.0", "input1.2"]


def test_labels_that_tell_nothing_give_way_to_numbers() -> None:
    assert dims("tensor", "tensor") == ["input0.0", "input1.2"]
    assert dims("same", "same") == ["input0.0", "input1.2"]
    assert dims("input1", "") == ["input0.0", "input1.2"]


def test_a_dim_read_in_a_callee_is_a_dim_of_the_caller_s_input() -> None:
    (main,) = read(f"""
util.func private @f(%v: !hal.buffer_view, %r: {R}) {{
  {PRELUDE}
  %n = hal.buffer_view.dim<%v : !hal.buffer_view>[1] : index
  {fill("%n")}
  util.return
}}
util.func public @main(%r: {R}, %v: !hal.buffer_view) {{
  util.call @f(%v, %r) : (!hal.buffer_view, {R}) -> ()
  util.return
}}""")
    assert sizes(main.body) == ["input1.1"]


def test_globals_are_their_value_unless_something_sets_them() -> None:
    (main,) = read(f"""
util.global private @fixed = 12 : index
util.global private mutable @set = 12 : index
util.func public @main(%r: {R}) {{
  {PRELUDE}
  %n = util.global.load @fixed : index
  %m = util.global.load @set : index
  util.global.store %c0, @set : index
  {fill("%n")}
  {fill("%m")}
  util.return
}}""")
    assert sizes(main.body) == ["12", "global.set"]


def test_values_read_back_from_a_device_are_symbols_of_the_function() -> None:
    (main,) = read(f"""
util.func public @main(%r: {R}, %s: !stream.resource<staging>, %dev: !hal.device) {{
  {PRELUDE}
  %c8 = arith.constant 8 : index
  %n = stream.resource.load %s[%c0] : !stream.resource<staging>{{%c8}} -> index
  %m = stream.resource.load %s[%c0] : !stream.resource<staging>{{%c8}} -> index
  %ok, %q = hal.device.query<%dev : !hal.device> key("sys" :: "cores") : i1, index = 0 : index
  {fill("%n")}
  {fill("%m")}
  {fill("%q")}
  util.return
}}""")
    assert sizes(main.body) == ["main.value0", "main.value1", "device.sys.cores"]


BRANCH = """
util.func public @main(%r: {R}, %b: i1, %n: index) {{
  {prelude}
  %true = arith.constant true
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  cf.cond_br {condition}, ^yes(%c5 : index), ^no
^yes(%y: index):
  {yes}
  cf.br ^end(%y : index)
^no:
  {no}
  cf.br ^end(%c7 : index)
^end(%e: index):
  {end}
  util.return
}}"""


def branch(condition: str, yes: str = "", no: str = "", end: str = "") -> tuple[Command, ...]:
    (main,) = read(
        BRANCH.format(R=R, prelude=PRELUDE, condition=condition, yes=yes, no=no, end=end)
    )
    return main.body


def test_a_branch_on_a_constant_is_just_the_arm_it_takes() -> None:
    assert sizes(branch("%true", yes=fill("%y"), no=fill("%c7"))) == ["5"]


def test_a_branch_keeps_both_arms_with_an_empty_one_as_nothing() -> None:
    (choice,) = branch("%b", no=fill("%c7"))
    assert isinstance(choice, Choice)
    yes, no = choice.arms
    assert (choice.name, yes, sizes(no)) == ("main.branch0", (), ["7"])


def test_a_branch_without_commands_vanishes() -> None:
    assert sizes(branch("%b", end=fill("%n"))) == ["input2"]


def test_a_value_that_depends_on_the_way_taken_is_a_symbol() -> None:
    assert sizes(branch("%b", end=fill("%e"))) == ["main.merged0"]


def test_branches_number_in_program_order_an_outer_one_first() -> None:
    (main,) = read(f"""
util.func public @main(%r: {R}, %b: i1, %n: index) {{
  {PRELUDE}
  scf.if %b {{
    {fill("%n")}
    scf.if %b {{
      {fill("%n")}
    }}
  }}
  util.return
}}""")
    (outer,) = main.body
    assert isinstance(outer, Choice)
    inner = outer.arms[0][1]
    assert isinstance(inner, Choice)
    assert (outer.name, inner.name) == ("main.branch0", "main.branch1")


def test_a_guarded_do_while_of_unknown_length_is_one_loop() -> None:
    (main,) = read(f"""
util.func public @main(%r: {R}, %b: i1, %n: index) {{
  {PRELUDE}
  cf.cond_br %b, ^turn, ^end
^turn:
  {fill("%n")}
  cf.cond_br %b, ^turn, ^end
^end:
  util.return
}}""")
    (repeat,) = main.body
    assert isinstance(repeat, Repeat)
    assert str(repeat.trips) == "main.loop0"
