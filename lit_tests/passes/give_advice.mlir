// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=mi300x --no-print 2>&1 | FileCheck %s
// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=mi300x --xpu-effort=low --no-print 2>&1 | FileCheck %s --check-prefix=LOW

// Suggestions come with what was found, the gain and its range, and what it saves; most saved
// first; a last line says what the best of each dispatch come to.
// CHECK: give_advice.mlir:[[#@LINE+2]]:3: remark: [xpu-shark.tiling] matmul 33x33x90000 f32 on mi300x takes {{.*}}; split the reduction of 90000 into {{[0-9]+}} parts {{.*}}instead of {{[0-9]+}} tiles on 304 cores: {{[0-9.]+}}x ({{[0-9.]+}} to {{[0-9.]+}}), saves {{.*}} % of gram
// CHECK: remark: [xpu-shark.summary] gram on mi300x: {{[0-9]+}} suggestion{{s?}} and {{[0-9]+}} that depend on uncertain constants; the best of each dispatch together save
  func.func @gram(%a: tensor<90000x33xf32>, %b: tensor<90000x33xf32>) -> tensor<33x33xf32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<33x33xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<33x33xf32>) -> tensor<33x33xf32>
    %0 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<90000x33xf32>, tensor<90000x33xf32>) outs(%init : tensor<33x33xf32>) -> tensor<33x33xf32>
    return %0 : tensor<33x33xf32>
  }

// A dispatch that is all launch has nothing to tile: that is said.
// CHECK: remark: [xpu-shark.summary] small on mi300x: no findings
  func.func @small(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %empty = tensor.empty() : tensor<8x8xf32>
    %0 = linalg.transpose ins(%x : tensor<8x8xf32>) outs(%empty : tensor<8x8xf32>) permutation = [1, 0]
    return %0 : tensor<8x8xf32>
  }

// A size without a value leaves nothing to simulate: no advice about it, and no word of advice.
// CHECK-NOT: unsized on mi300x: {{.*}}findings
// CHECK-NOT: [xpu-shark.tiling] unsized
  func.func @unsized(%x: tensor<?x8xf32>) -> tensor<8x?xf32> {
    %c0 = arith.constant 0 : index
    %n = tensor.dim %x, %c0 : tensor<?x8xf32>
    %empty = tensor.empty(%n) : tensor<8x?xf32>
    %0 = linalg.transpose ins(%x : tensor<?x8xf32>) outs(%empty : tensor<8x?xf32>) permutation = [1, 0]
    return %0 : tensor<8x?xf32>
  }

// Low effort gives no advice, only limits.
// LOW: matmul 33x33x90000 f32 on mi300x takes {{.*}} its bound
// LOW-NOT: instead of
// LOW-NOT: findings
