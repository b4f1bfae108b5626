// RUN: xpu-shark simulate %s --xpu-target=mi300x | FileCheck %s --implicit-check-not="only moves elements"

// Heads are transposed into memory by a dispatch of their own, and the product reads them.
// CHECK: {{(copy|transpose)}} {{.*}} f32 on mi300x {{.*}} read its operand in place in heads_dispatch_1_{{.*}} instead of a dispatch that only moves elements
func.func @heads(%x: tensor<512x16x64xf32>, %w: tensor<16x64x64xf32>) -> tensor<16x512x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x512x64xf32>
  %0 = linalg.transpose ins(%x : tensor<512x16x64xf32>) outs(%empty : tensor<16x512x64xf32>) permutation = [1, 0, 2]
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x512x64xf32>) -> tensor<16x512x64xf32>
  %1 = linalg.batch_matmul ins(%0, %w : tensor<16x512x64xf32>, tensor<16x64x64xf32>) outs(%init : tensor<16x512x64xf32>) -> tensor<16x512x64xf32>
  return %1 : tensor<16x512x64xf32>
}

// A transpose that is the function's result has nobody to read it in place: quiet.
func.func @result(%x: tensor<512x256x64xf32>) -> tensor<256x512x64xf32> {
  %empty = tensor.empty() : tensor<256x512x64xf32>
  %0 = linalg.transpose ins(%x : tensor<512x256x64xf32>) outs(%empty : tensor<256x512x64xf32>) permutation = [1, 0, 2]
  return %0 : tensor<256x512x64xf32>
}

// One that IREE folds into an addition is no dispatch of its own: quiet.
func.func @adds(%x: tensor<1024x512xf32>, %y: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %empty = tensor.empty() : tensor<512x1024xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%x, %y : tensor<1024x512xf32>, tensor<512x1024xf32>) outs(%empty : tensor<512x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<512x1024xf32>
  return %0 : tensor<512x1024xf32>
}
