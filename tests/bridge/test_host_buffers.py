"""Which bytes of which buffer a command touches."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from iree.compiler import ir

from xpu_shark.passes.bridge.read_host import read_functions
from xpu_shark.simulator.workload import Command, Kernel, Move, Place, Repeat, Span, Work

Read = Callable[[str], Kernel]
R = "!stream.resource<transient>"


def spans(functions: str, body: str) -> list[tuple[Span, ...]]:
    """Spans of the commands of `@main`, on 128 bytes %p of %r."""
    with ir.Context():
        return [each.spans for each in commands(functions, body) if isinstance(each, Move)]


def commands(functions: str, body: str) -> tuple[Command, ...]:
    """Commands of `@main`."""
    text = f"""module {{
    util.global private @weights : !stream.resource<constant>
    {functions}
    util.func public @main(%in: !stream.resource<external>) {{
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %zero = arith.constant 0 : i8
      %r, %t = stream.resource.alloca uninitialized : {R}{{%c128}} => !stream.timepoint
      {body}
      util.return
    }} }}"""
    *_, main = read_functions(ir.Module.parse(text).operation)
    return main.body


def fill(resource: str, kind: str = R, offset: str = "%c0") -> str:
    return f"""stream.cmd.execute with({resource} as %p: {kind}{{%c128}}) {{
      stream.cmd.fill %zero, %p[{offset} for %c8] : i8 -> {kind}{{%c128}}
    }} => !stream.timepoint
    """


def test_an_allocation_is_transient_and_an_argument_is_not() -> None:
    [[own], [given]] = spans("", fill("%r") + fill("%in", "!stream.resource<external>", "%c64"))
    assert own == Span(buffer=0, offset=0, bytes=8, access="write", transient=True)
    assert given == Span(buffer=1, offset=64, bytes=8, access="write")


def test_an_await_and_a_subview_are_the_same_buffer() -> None:
    views = f"""
    %w = stream.timepoint.await %t => %r : {R}{{%c128}}
    %v = stream.resource.subview %w[%c64] : {R}{{%c128}} -> {R}{{%c64}}
    """
    [[whole], [part]] = spans("", fill("%r") + views + fill("%v", offset="%c8"))
    assert (part.buffer, part.offset) == (whole.buffer, 72)


def test_a_barrier_is_the_same_buffer() -> None:
    barrier = f"%x, %b = util.optimization_barrier %in, %r : !stream.resource<external>, {R}\n"
    [[before], [behind]] = spans("", fill("%r") + barrier + fill("%b"))
    assert behind == before


def test_what_the_next_turn_has_behind_a_barrier_is_not_transient() -> None:
    loop = f"""
    %b = util.optimization_barrier %r : {R}
    %n = scf.for %i = %c0 to %c8 step %c64 iter_args(%x = %b) -> ({R}) {{
      scf.yield %x : {R}
    }}
    """
    [[before]] = spans("", fill("%r") + loop)
    assert not before.transient


def test_what_the_next_turn_has_is_not_transient() -> None:
    loop = f"""
    %w = stream.timepoint.await %t => %r : {R}{{%c128}}
    %n = scf.for %i = %c0 to %c8 step %c64 iter_args(%x = %w) -> ({R}) {{
      scf.yield %x : {R}
    }}
    """
    [[before]] = spans("", fill("%r") + loop)
    assert not before.transient


def test_a_loop_has_what_the_turn_before_left() -> None:
    loop = f"""
    %n = scf.for %i = %c0 to %c8 step %c64 iter_args(%x = %r) -> ({R}) {{
      {fill("%x")}
      scf.yield %x : {R}
    }}
    """
    with ir.Context():
        [repeat] = commands("", loop)
    assert isinstance(repeat, Repeat)
    [[inside]] = [command.spans for command in repeat.body if isinstance(command, Move)]
    assert inside.carried
    [[given]] = spans("", fill("%in", "!stream.resource<external>"))
    assert not given.carried


def test_what_is_staged_is_for_the_host() -> None:
    staged = "!stream.resource<staging>"
    copy = f"""
    %s, %u = stream.resource.alloca uninitialized : {staged}{{%c128}} => !stream.timepoint
    stream.cmd.execute with(%r as %p: {R}{{%c128}}, %s as %q: {staged}{{%c128}}) {{
      stream.cmd.copy %p[%c0], %q[%c0], %c8 : {R}{{%c128}} -> {staged}{{%c128}}
    }} => !stream.timepoint
    """
    [[here, there]] = spans("", copy)
    assert (here.host, there.host) == (False, True)


def test_an_inlined_call_hands_on_the_buffer() -> None:
    sizes = "%c0: index, %c8: index, %c128: index, %zero: i8"
    callee = f"""util.func private @fills(%a: {R}, {sizes}) {{
      {fill("%a")}
      util.return
    }}"""
    call = f"util.call @fills(%r, %c0, %c8, %c128, %zero) : ({R}, index, index, index, i8) -> ()"
    [[before], [inside]] = spans(callee, fill("%r") + call)
    assert inside == before


def test_loads_of_a_global_are_one_buffer() -> None:
    constant = "!stream.resource<constant>"
    loads = f"""
    %a = util.global.load @weights : {constant}
    %b = util.global.load @weights : {constant}
    """
    [[first], [second]] = spans("", loads + fill("%a", constant) + fill("%b", constant))
    assert first == second


@pytest.mark.parametrize(
    ("window", "place"),
    [
        ("%0", Place(binding=0, offset=256)),
        ("%1", Place(binding=0, offset=None, start=256, array=16)),
    ],
    ids=["the whole binding", "a part of it"],
)
def test_a_tensor_knows_its_place(read: Read, window: str, place: Place) -> None:
    view = "memref.subview %0[8] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>"
    size = 16 if window == "%0" else 8
    kind = "memref<16xf32>" if window == "%0" else "memref<8xf32, strided<[1], offset: 8>>"
    layout = "#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>"
    kernel = read(f"""func.func @f() {{
      %c256 = arith.constant 256 : index
      %0 = hal.interface.binding.subspan layout({layout}) binding(0) offset(%c256) : memref<16xf32>
      %1 = {view}
      %2 = iree_codegen.load_from_buffer {window} : {kind} -> tensor<{size}xf32>
      %3 = tensor.empty() : tensor<{size}xf32>
      %4 = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
          iterator_types = ["parallel"]}}
          ins(%2 : tensor<{size}xf32>) outs(%3 : tensor<{size}xf32>) {{
        ^bb0(%x: f32, %y: f32):
          %o = math.exp %x : f32
          linalg.yield %o : f32
      }} -> tensor<{size}xf32>
      iree_codegen.store_to_buffer %4, {window} : tensor<{size}xf32> into {kind}
      return
    }}""")
    places = {tensor.place for tensor in kernel.tensors if tensor.storage == "global"}
    assert places == {place}


@pytest.mark.parametrize(
    ("body", "work"),
    [
        ("%p = arith.mulf %x, %y : f32\n%o = arith.addf %p, %x : f32", {"madd": 1}),
        ("%p = arith.mulf %x, %y : f32\n%o = arith.subf %x, %p : f32", {"madd": 1}),
        ("%p = arith.mulf %x, %y : f32\n%o = arith.maximumf %p, %x : f32", {"mul": 1, "max": 1}),
        # A product that two take is computed for itself.
        (
            "%p = arith.mulf %x, %y : f32\n%s = arith.addf %p, %x : f32\n"
            "%o = arith.divf %s, %p : f32",
            {"mul": 1, "add": 1, "div": 1},
        ),
        # A sum of two products takes one of them.
        (
            "%p = arith.mulf %x, %y : f32\n%q = arith.mulf %x, %x : f32\n"
            "%o = arith.addf %p, %q : f32",
            {"mul": 1, "madd": 1},
        ),
    ],
)
def test_a_product_that_one_sum_takes_is_a_multiply_add(
    read: Read, body: str, work: dict[str, int]
) -> None:
    kernel = read(f"""func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {{
      %e = tensor.empty() : tensor<8xf32>
      %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
          affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
          ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {{
        ^bb0(%x: f32, %y: f32, %z: f32):
          {body}
          linalg.yield %o : f32
      }} -> tensor<8xf32>
      return %r : tensor<8xf32>
    }}""")
    assert set(kernel.nests[0].work) == {
        Work(kind=kind, element="f32", count=count) for kind, count in work.items()
    }
