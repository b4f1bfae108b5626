// RUN: xpu-shark-opt %s --split-input-file --passes="func.func(canonicalize),cse" --mlir-print-debuginfo | FileCheck %s

// Each part is a module of its own, and its locations count from the top of the file.
// CHECK: func.func @same(
// CHECK: = loc("{{.*}}split_input_file.mlir":[[# @LINE + 1]]:1)
func.func @same(%x: i32) -> i32 {
  return %x : i32
}

// -----

// CHECK: // -----
// CHECK: func.func @same(
// CHECK-NOT: arith.constant
// CHECK: = loc("{{.*}}split_input_file.mlir":[[# @LINE + 1]]:1)
func.func @same(%x: i32) -> i32 {
  %unused = arith.constant 1 : i32
  return %x : i32
}
