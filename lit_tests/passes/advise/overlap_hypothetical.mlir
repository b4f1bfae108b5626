// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=tiny --xpu-effort=high --no-print 2>&1 | FileCheck %s
// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=tiny --no-print 2>&1 | FileCheck %s --check-prefix=DEFAULT

// Between its bound and the sum of all least times, and no tile is faster: what the wait costs is
// said at high effort, and adds to no total.
// CHECK: [xpu-shark.tiling] matmul 64x128x16 i8 on tiny {{.*}} with a practically free transfer set-up it would be {{.*}} as fast: no change of the program gives that
// CHECK: [xpu-shark.summary] product on tiny: 0 suggestions and 0 that depend on uncertain constants, 1 about another machine; {{.*}} save 0 ps
// DEFAULT: [xpu-shark.summary] product on tiny: no findings
func.func @product(%a: tensor<64x16xi8>, %b: tensor<16x128xi8>) -> tensor<64x128xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<64x128xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<64x128xi32>) -> tensor<64x128xi32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x16xi8>, tensor<16x128xi8>) outs(%init : tensor<64x128xi32>) -> tensor<64x128xi32>
  return %0 : tensor<64x128xi32>
}
