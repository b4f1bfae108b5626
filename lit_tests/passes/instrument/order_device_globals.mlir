// RUN: xpu-shark-opt %s --passes=xpu-order-device-globals --split-input-file --verify-diagnostics | FileCheck %s

// Both devices, whatever their names, come before the first initializer, in their order; nothing else moves.
// CHECK: util.global private @first
// CHECK-NEXT: util.global private @__device_0
// CHECK-NEXT: util.global private @mine
// CHECK-NEXT: util.initializer
// CHECK: util.global private @late
util.global private @first = 1 : i32
util.initializer {
  %0 = util.global.load @mine : !hal.device
  util.optimization_barrier %0 : !hal.device
  util.return
}
util.global private @__device_0 = #hal.device.ordinal<0> : !hal.device
util.global private @mine = #hal.device.ordinal<1> : !hal.device
util.global private @late = 2 : i32

// -----

// Without an initializer nothing uses a device too early.
// CHECK: util.global private @other
// CHECK-NEXT: util.global private @__device_0
util.global private @other = 1 : i32
util.global private @__device_0 = #hal.device.ordinal<0> : !hal.device

// -----

// A global that is no device stays where it is, and is named.
// CHECK: util.initializer
// CHECK: util.global private @table
// expected-remark @below {{[xpu-shark.coverage] table: an initializer uses this global before it is defined}}
util.initializer {
  %0 = util.global.load @table : i32
  util.optimization_barrier %0 : i32
  util.return
}
util.global private @table = 1 : i32
