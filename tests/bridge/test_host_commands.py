from __future__ import annotations

import pytest
from iree.compiler import ir

from xpu_shark.passes.bridge.read_host import read_functions
from xpu_shark.simulator.workload import (
    Collective,
    Command,
    Concurrent,
    Launch,
    Move,
    Repeat,
)

DEVICES = "attributes {stream.affinity.default = #hal.device.affinity<@a>}"
CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %pattern = arith.constant 7 : i32
"""
R = "!stream.resource<transient>"
EXECUTABLE = """
hal.executable private @ex {
  hal.executable.variant public @elf target(<"llvm-cpu", "embedded-elf-x86_64">) {
    hal.executable.export public @run ordinal(0) layout(
      #hal.pipeline.layout<constants = 2, bindings = [#hal.pipeline.binding<storage_buffer>]>)
  }
  hal.executable.variant public @vm target(<"vmvx", "vmvx-bytecode-fb">) {
    hal.executable.export public @run ordinal(0) layout(
      #hal.pipeline.layout<constants = 2, bindings = [#hal.pipeline.binding<storage_buffer>]>)
  }
}
"""


def read(commands: str, before: str = "", on: str = "") -> tuple[Command, ...]:
    """What a region of `commands` on resources %p (of %x) and %q (of %y) is read as."""
    text = f"""module {DEVICES} {{
util.global private @a : !hal.device
util.global private @b : !hal.device
{EXECUTABLE}
stream.cmd.func private @outside(%0[%1 for %2]: !stream.resource<*>)
util.func public @f(%x: {R}, %y: {R}, %n: index) attributes {{iree.abi.stub}} {{
  {CONSTANTS}
  {before}
  stream.cmd.execute {on} with(%x as %p: {R}{{%n}}, %y as %q: {R}{{%n}}) {{
    {commands}
  }} => !stream.timepoint
  util.return
}} }}"""
    with ir.Context():
        (function,) = read_functions(ir.Module.parse(text).operation)
        return function.body


def one(commands: str, before: str = "", on: str = "") -> Command:
    (command,) = read(commands, before, on)
    return command


COPY = f"stream.cmd.copy %p[%c0], %q[%c0], %c64 : {R}{{%n}} -> {R}{{%n}}"
FILL = f"stream.cmd.fill %pattern, %p[%c0 for %c128] : i32 -> {R}{{%n}}"


def test_a_fill_has_the_bytes_it_writes() -> None:
    move = one(FILL)
    assert isinstance(move, Move)
    assert (move.kind, move.bytes, move.device, move.source) == ("fill", 128, "a", "")


def test_a_copy_may_have_a_size_that_is_an_input() -> None:
    move = one(f"stream.cmd.copy %p[%c0], %q[%c0], %n : {R}{{%n}} -> {R}{{%n}}")
    assert isinstance(move, Move)
    assert (move.kind, str(move.bytes), move.device, move.source) == ("copy", "input2", "a", "")


def test_a_launch_names_its_export_for_any_number_of_targets_and_keeps_its_constants() -> None:
    launch = one(
        f"""stream.cmd.dispatch {{@ex::@elf::@run, @ex::@vm::@run}}[%c64](
      %pattern, %w : i32, i32) {{
      rw %p[%c0 for %c128] : {R}{{%n}}
    }}""",
        before="%w = arith.index_castui %n : index to i32",
    )
    assert isinstance(launch, Launch)
    assert (launch.kernel, launch.device) == ("run", "a")
    assert list(map(str, launch.constants)) == ["7", "input2"]


def test_a_call_of_an_outside_recording_function_is_a_launch_of_it() -> None:
    launch = one(f"stream.cmd.call @outside(rw %p[%c0 for %c64]) : ({R}{{%n}}) -> ()")
    assert isinstance(launch, Launch)
    assert launch.kernel == "outside"


def test_cache_maintenance_is_no_command() -> None:
    assert (
        read(f"""
      stream.cmd.flush %p[%c0 for %c64] : {R}{{%n}}
      stream.cmd.invalidate %p[%c0 for %c64] : {R}{{%n}}
      stream.cmd.discard %p[%c0 for %c64] : {R}{{%n}}""")
        == ()
    )


def test_concurrent_commands_stay_together_and_sequences_in_them_keep_their_order() -> None:
    concurrent = one(f"""stream.cmd.concurrent {{
      {FILL}
      stream.cmd.serial {{
        {FILL}
        {COPY}
      }}
    }}""")
    assert isinstance(concurrent, Concurrent)
    alone, sequence = concurrent.body
    assert isinstance(alone, Move)
    assert isinstance(sequence, Repeat)
    assert sequence.trips == 1
    assert [move.kind for move in sequence.body if isinstance(move, Move)] == ["fill", "copy"]


def test_one_concurrent_command_is_just_that_command() -> None:
    assert isinstance(one(f"stream.cmd.concurrent {{ {FILL} }}"), Move)


def test_a_command_runs_on_the_device_of_its_region() -> None:
    move = one(FILL, on="on(#hal.device.affinity<@b, [0]>)")
    assert isinstance(move, Move)
    assert move.device == "b"


def test_a_copy_that_is_flushed_to_another_device_is_a_transfer_to_it() -> None:
    move = one(f"""{COPY}
      stream.cmd.flush to(#hal.device.affinity<@b>) %q[%c0 for %c64] : {R}{{%n}}""")
    assert isinstance(move, Move)
    assert (move.kind, move.bytes, move.source, move.device) == ("transfer", 64, "a", "b")


def test_a_copy_of_what_another_device_wrote_is_a_transfer_from_it() -> None:
    move = one(f"""stream.cmd.invalidate from(#hal.device.affinity<@b>) %p[%c0 for %c64] : {R}{{%n}}
      {COPY}""")
    assert isinstance(move, Move)
    assert (move.kind, move.bytes, move.source, move.device) == ("transfer", 64, "b", "a")


def test_a_flush_to_another_device_without_a_copy_moves_the_bytes_itself() -> None:
    fill, move = read(f"""{FILL}
      stream.cmd.flush to(#hal.device.affinity<@b>) %p[%c0 for %c64] : {R}{{%n}}""")
    assert isinstance(fill, Move)
    assert isinstance(move, Move)
    assert (fill.kind, fill.device) == ("fill", "a")
    assert (move.kind, move.bytes, move.source, move.device) == ("transfer", 64, "a", "b")


def test_a_copy_between_resources_of_two_devices_is_a_transfer() -> None:
    before = f"""
  %far = stream.resource.alloc uninitialized on(#hal.device.affinity<@b>) : {R}{{%n}}
  stream.cmd.execute with(%far as %u: {R}{{%n}}, %y as %v: {R}{{%n}}) {{
    stream.cmd.copy %u[%c0], %v[%c0], %c64 : {R}{{%n}} -> {R}{{%n}}
  }} => !stream.timepoint"""
    (move,) = read("", before)
    assert isinstance(move, Move)
    assert (move.kind, move.source, move.device) == ("transfer", "b", "a")


def collective(
    op: str, read_bytes: str, written: str, before: str = "", channel: str = "%ch"
) -> Collective:
    command = one(
        f"""stream.cmd.collective<{op}>[%c64] channel({channel}) {{
          ro %p[%c0 for {read_bytes}] : {R}{{%n}},
          wo %q[%c0 for {written}] : {R}{{%n}}
        }}""",
        before=before or "%ch = stream.channel.create : !stream.channel",
    )
    assert isinstance(command, Collective)
    return command


def test_a_collective_has_its_kind_and_the_larger_of_what_it_sends_and_receives() -> None:
    found = collective("all_gather : bf16", "%c64", "%c128")
    assert (found.kind, found.reduction, found.element) == ("all_gather", "", "bf16")
    assert (found.bytes, found.group, found.device) == (128, 0, "a")


def test_a_reducing_collective_names_its_reduction() -> None:
    found = collective("reduce_scatter with maximum : si32", "%c128", "%c64")
    assert (found.kind, found.reduction, found.element) == ("reduce_scatter", "maximum", "si32")
    assert found.bytes == 128


SPLIT = """
  %all = stream.channel.create : !stream.channel
  %rank = stream.channel.rank %all : index
  %none = arith.constant -1 : index
  %color = util.switch index from [{colors}] at %rank else %none : index
  %ch = stream.channel.split %all, %color, %rank : !stream.channel -> !stream.channel
"""


@pytest.mark.parametrize(
    ("colors", "groups"),
    [
        ("%c0, %c0, %c0, %c0, %c0, %c0", ((0, 1, 2, 3, 4, 5),)),
        ("%c0, %c0, %c1, %c1", ((0, 1), (2, 3))),
        ("%c0, %c1, %c0, %c1", ((0, 2), (1, 3))),
        ("%c0, %c1, %c4", ((0,), (1,), (2,))),
        ("%c0, %c0, %c0, %none", ((0, 1, 2),)),
    ],
)
def test_ranks_of_one_color_are_one_group(colors: str, groups: tuple[tuple[int, ...], ...]) -> None:
    found = collective("all_reduce with sum : f32", "%c64", "%c64", SPLIT.format(colors=colors))
    assert (found.groups, found.group) == (groups, max(map(len, groups)))


def test_keys_order_the_ranks_of_a_group() -> None:
    split = """
      %all = stream.channel.create : !stream.channel
      %rank = stream.channel.rank %all : index
      %none = arith.constant -1 : index
      %color = util.switch index from [%c0, %c0, %c1, %c1] at %rank else %none : index
      %key = util.switch index from [%c1, %c0, %c0, %c1] at %rank else %none : index
      %ch = stream.channel.split %all, %color, %key : !stream.channel -> !stream.channel
    """
    found = collective("all_reduce with sum : f32", "%c64", "%c64", split)
    assert found.groups == ((1, 0), (2, 3))


def test_groups_of_a_group_keep_the_numbers_of_their_devices() -> None:
    split = """
      %all = stream.channel.create : !stream.channel
      %rank = stream.channel.rank %all : index
      %none = arith.constant -1 : index
      %color = util.switch index from [%c1, %c0, %c0, %c1, %c0, %c0] at %rank else %none : index
      %half = stream.channel.split %all, %color, %rank : !stream.channel -> !stream.channel
      %place = stream.channel.rank %half : index
      %side = util.switch index from [%c0, %c0, %c1, %c1] at %place else %none : index
      %ch = stream.channel.split %half, %side, %place : !stream.channel -> !stream.channel
    """
    found = collective("all_reduce with sum : f32", "%c64", "%c64", split)
    assert found.groups == ((0, 3), (1, 2), (4, 5))


def test_a_channel_with_a_constant_count_has_that_many_devices() -> None:
    before = "%ch = stream.channel.create rank(%c0) count(%c4) : !stream.channel"
    assert collective("all_reduce with sum : f32", "%c64", "%c64", before).group == 4
