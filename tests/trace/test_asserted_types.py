"""Types of the inputs of a module that has no declaration."""

from __future__ import annotations

from pathlib import Path

import pytest
from trace_runs import Compile, record, xpu_shark

from xpu_shark.compiler.trace import asserted_types, module_functions
from xpu_shark.compiler.trace.signature import DYNAMIC, Type, untold

GOOD = ("--input=5x64xf32=1", "--input=64x8xf32=1", "--input=8xi1=01")


def test_a_pytorch_module_says_them_by_what_it_asserts(compiled: Compile) -> None:
    functions = module_functions.read(compiled("torch_layer"))
    assert functions.types["main"] == (
        Type("f32", (DYNAMIC, 64)),
        Type("f32", (64, 8)),
        Type("i1", (8,)),
    )


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (("--input=5x63xf32", *GOOD[1:]), "input 0 of @main is ?x64xf32: dimension 1 of 64"),
        ((GOOD[0], "--input=8x64xf32", GOOD[2]), "input 1 of @main is 64x8xf32: dimension 0 of 64"),
        ((*GOOD[:2], "--input=8xf32"), "input 2 of @main is 8xi1: element type i1 expected"),
    ],
)
def test_a_wrong_input_is_refused_before_the_run(
    tmp_path: Path, compiled: Compile, inputs: tuple[str, ...], said: str
) -> None:
    args = ("record", compiled("torch_layer"), "--function=main", *inputs, "-o", "t.xputrace")
    done = xpu_shark(*args, folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


def test_a_pytorch_module_is_recorded(tmp_path: Path, compiled: Compile) -> None:
    module = compiled("torch_layer")
    for mask in (GOOD[2], "--input=8xi8=1"):  # both are how IREE's runner takes it
        trace = record(tmp_path, module, "--function=main", *GOOD[:2], mask)
        assert len(trace.launches) == 2


ASSERTS = """\
vm.import @hal.buffer_view.assert cconv "0rriiCID_v"
vm.func @f(%r0: !vm.ref<?>, %r1: !vm.ref<?>, %r2: !vm.ref<?>) -> () {
  %i0 = vm.const.i32 553648160  // 0x21000020
  %i1 = vm.const.i32 1  // 0x00000001
  %i2:3 = vm.const.i64 64  // 0x0000000000000040
  %i4:5 = vm.const.i64.zero
  vm.call.variadic @hal.buffer_view.assert segments[65535, 2](%r0, %r3, %i0, %i1, %i2, %i4)
  %i2 = vm.call @hal.buffer_view.dim(%r1, %i4)
  vm.call.variadic @hal.buffer_view.assert segments[65535, 1](%R1, %r3, %i0, %i1, %i2)
  %r2 = vm.call @hal.device.allocator(%r7)
  vm.call.variadic @hal.buffer_view.assert segments[65535, 1](%r2, %r3, %i0, %i1, %i2)
"""


def test_registers_are_followed_until_they_are_written_again() -> None:
    # The third register no longer holds the third argument; the second size is asked of the input.
    found = asserted_types.parse(ASSERTS.splitlines(), 3)
    assert found == (Type("f32", (64, 0)), Type("f32", (DYNAMIC,)), None)


def test_what_is_not_asserted_is_not_known_and_said() -> None:
    types = asserted_types.parse([], 2)
    assert types == (None, None)
    assert "no type of input 0, 1 of @f: not checked" in untold("f", types)
