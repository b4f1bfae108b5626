// RUN: xpu-shark-opt %s --passes=xpu-print-graph --xpu-target=tiny --no-print | FileCheck %s

// The number before an operand's type is the line that made it; a reshape is not one.
// CHECK: 0: @main dispatch scale(input x.0x4xf32, constant 4xf32) -> (x.0x4xf32) at {{.*}}print_graph.mlir:
// CHECK-NEXT: 1: @main collective all_reduce(other 16xf32, 0 16xf32) -> (16xf32) at
// CHECK-NEXT: 2: @main dispatch sum(1 4x4xf32, other 4xf32) -> (4xf32) at

// A size that another function decides has a name of its own; ops of other dialects that make an
// operand are "other".
// CHECK-NEXT: 3: @run_time dispatch scale(other [[SIZE:.+]]xf32) -> ([[SIZE]]xf32) at

// A function without any has no line, nor does one that is not a host function.
// CHECK-NOT: @idle
// CHECK-NOT: @plain

module {
  flow.executable private @ex {
    flow.executable.export public @scale
    flow.executable.export public @sum
  }

  util.func public @main(%arg0: !hal.buffer_view) -> tensor<4xf32> {
    %n = hal.buffer_view.dim<%arg0 : !hal.buffer_view>[0] : index
    %x = hal.tensor.import %arg0 "x" : !hal.buffer_view -> tensor<?x4xf32>{%n}
    %weights = arith.constant dense<2.0> : tensor<4xf32>
    %0 = flow.dispatch @ex::@scale[%n](%x, %weights) : (tensor<?x4xf32>{%n}, tensor<4xf32>) -> tensor<?x4xf32>{%n}
    %1 = flow.tensor.reshape %0 : tensor<?x4xf32>{%n} -> tensor<16xf32>
    %target = flow.tensor.empty : tensor<16xf32>
    %channel = flow.channel.default : !flow.channel
    %2 = flow.collective.all_reduce sum, f32, %target, %1, %channel : (tensor<16xf32>, tensor<16xf32>, !flow.channel) -> %target as tensor<16xf32>
    %3 = flow.tensor.reshape %2 : tensor<16xf32> -> tensor<4x4xf32>
    %4 = flow.tensor.empty : tensor<4xf32>
    %5 = flow.dispatch @ex::@sum(%3, %4) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
    util.return %5 : tensor<4xf32>
  }

  util.func private @size() -> index

  util.func public @run_time() -> tensor<?xf32> {
    %n = util.call @size() : () -> index
    %x = flow.tensor.alloca : tensor<?xf32>{%n}
    %0 = flow.dispatch @ex::@scale(%x) : (tensor<?xf32>{%n}) -> tensor<?xf32>{%n}
    util.return %0 : tensor<?xf32>
  }

  util.func public @idle() {
    util.return
  }

  func.func @plain(%x: tensor<16xf32>) -> tensor<16xf32> {
    return %x : tensor<16xf32>
  }
}
