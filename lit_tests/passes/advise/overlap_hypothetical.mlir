// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=tpu_v6e --xpu-effort=high --no-print 2>&1 | FileCheck %s
// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=tpu_v6e --no-print 2>&1 | FileCheck %s --check-prefix=DEFAULT

// All of it fits, so no tile is faster. What a wait costs is said at high effort, and adds to no total.
// CHECK: [xpu-shark.tiling] reduce 4096x1024 f32 on tpu_v6e {{.*}} with a practically free {{.*}} it would be {{.*}} as fast: no change of the program gives that
// CHECK: [xpu-shark.summary] columns on tpu_v6e: 0 suggestions and 0 that depend on uncertain constants, 1 about another machine; {{.*}} save 0 ps
// DEFAULT: [xpu-shark.summary] columns on tpu_v6e: no findings
func.func @columns(%x: tensor<4096x1024xf32>) -> tensor<1024xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024xf32>) -> tensor<1024xf32>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<4096x1024xf32>) outs(%init : tensor<1024xf32>) dimensions = [0]
  return %0 : tensor<1024xf32>
}
