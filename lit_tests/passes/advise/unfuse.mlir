// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=mi300x --no-print 2>&1 | FileCheck %s --implicit-check-not="two dispatches"

// Four rows are four tiles. The division needs no whole row: by itself it has work for all cores.
// CHECK: [xpu-shark.fusion] {{.*}} 4x400000 f32 on mi300x {{.*}} two dispatches, cut after nest 2 (exp_sum at {{.*}}), the op there written out as several with a barrier between instead of 3 loop nests in one dispatch
func.func @few_rows(%x: tensor<4x400000xf32>) -> tensor<4x400000xf32> {
  %empty = tensor.empty() : tensor<4x400000xf32>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4x400000xf32>) outs(%empty : tensor<4x400000xf32>) -> tensor<4x400000xf32>
  return %0 : tensor<4x400000xf32>
}

// Rows for every core, and short enough to stay: quiet.
func.func @many_rows(%x: tensor<4096x2048xf32>) -> tensor<4096x2048xf32> {
  %empty = tensor.empty() : tensor<4096x2048xf32>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4096x2048xf32>) outs(%empty : tensor<4096x2048xf32>) -> tensor<4096x2048xf32>
  return %0 : tensor<4096x2048xf32>
}
