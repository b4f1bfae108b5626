// RUN: xpu-shark-opt %s --passes=xpu-report-limits --xpu-target=tiny --no-print 2>&1 | FileCheck %s
// RUN: xpu-shark-opt %s --passes=xpu-report-limits --xpu-target=tiny --xpu-dim=arg0.0=3 --no-print 2>&1 | FileCheck %s --check-prefix=BOUND
// RUN: xpu-shark-opt %s --passes=xpu-report-limits --xpu-target=tpu_v4 --no-print 2>&1 | FileCheck %s --check-prefix=FAR

// What limits a dispatch, how far it is from its bound, and what its unit waits for.
// A and B are 64 bytes each at 4 bytes a ns: loads are most of the time.
// CHECK: report_limits.mlir:[[# @LINE + 3]]:3: remark: [xpu-shark.summary] product on tiny takes
// CHECK-SAME: in 1 dispatch (1 distinct, 1 launch); 1 modelled
// CHECK: report_limits.mlir:[[# @LINE + 1]]:3: remark: [xpu-shark.memory] matmul 4x4x4 f32 on tiny takes {{.*}} its bound: limited by hbm traffic, busy {{[0-9]+}} % of the time; the matrix unit waits for hbm loads
  func.func @product(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<4x4xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
    %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%init : tensor<4x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }

// A size that nobody gave is named, and there is no time until it has a value.
// CHECK: remark: [xpu-shark.summary] rows on tiny: no time for 1 dispatch
// CHECK-SAME: unknown: arg0.0 (give --xpu-dim=NAME=N
// CHECK: remark: [xpu-shark.coverage] rows: sizes depend on arg0.0; give --xpu-dim=arg0.0=N
// BOUND: remark: [xpu-shark.summary] rows on tiny takes
// BOUND: elementwise 3x8 f32 on tiny takes
  func.func @rows(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
    %c0 = arith.constant 0 : index
    %n = tensor.dim %x, %c0 : tensor<?x8xf32>
    %empty = tensor.empty(%n) : tensor<?x8xf32>
    %0 = linalg.elementwise <exp> ins(%x : tensor<?x8xf32>) outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
    return %0 : tensor<?x8xf32>
  }

// No elements, no work: said, not shown as a fast dispatch.
// CHECK: remark: [xpu-shark.summary] nothing on tiny: no work in 1 dispatch
// CHECK: remark: [xpu-shark.coverage] nothing: no work, takes no time on tiny
  func.func @nothing(%x: tensor<0x8xf32>) -> tensor<0x8xf32> {
    %empty = tensor.empty() : tensor<0x8xf32>
    %0 = linalg.elementwise <exp> ins(%x : tensor<0x8xf32>) outs(%empty : tensor<0x8xf32>) -> tensor<0x8xf32>
    return %0 : tensor<0x8xf32>
  }

// An op that nothing models is named; its bytes bound it.
// CHECK: remark: [xpu-shark.coverage] {{.*}} on tiny takes {{.*}}; partial: {{.*}}func.call{{.*}} bounded by its bytes
  func.func @strange(%x: tensor<16xf32>) -> tensor<16xf32> {
    %0 = func.call @elsewhere(%x) : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  func.func private @elsewhere(%x: tensor<16xf32>) -> tensor<16xf32>

// Elements that are not numbers have no bytes either: no time, never 0.
// CHECK: remark: [xpu-shark.summary] handles on tiny: no time for 1 dispatch
// CHECK-SAME: 1 not (handles: element type '!util.buffer' is not a number type)
// CHECK: remark: [xpu-shark.coverage] handles: not modelled, element type '!util.buffer' is not a number type; it has no time
  func.func @handles(%x: tensor<4x!util.buffer>) -> tensor<4x!util.buffer> {
    return %x : tensor<4x!util.buffer>
  }

// One element: its time is latency, and how many times its bound that is says nothing.
// FAR: elementwise scalar f32 on tpu_v4 takes {{.*}}, >1000x its bound: limited by latency
  func.func @scalar(%x: tensor<f32>) -> tensor<f32> {
    %empty = tensor.empty() : tensor<f32>
    %0 = linalg.elementwise <exp> ins(%x : tensor<f32>) outs(%empty : tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
