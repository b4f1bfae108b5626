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

// The product behind other launches reads the transpose, which lies in one slab with their results.
// CHECK: copy 512x16x128 f32 on mi300x {{.*}} read its operand in place in far_dispatch_4_{{.*}} instead of a dispatch that only moves elements
func.func @far(%h: tensor<512x16x128xf32>, %x: tensor<512x512xf32>, %w: tensor<16x128x64xf32>) -> (tensor<16x512x64xf32>, tensor<512x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x512x128xf32>
  %0 = linalg.transpose ins(%h : tensor<512x16x128xf32>) outs(%empty : tensor<16x512x128xf32>) permutation = [1, 0, 2]
  %square = tensor.empty() : tensor<512x512xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%square : tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = linalg.matmul ins(%x, %x : tensor<512x512xf32>, tensor<512x512xf32>) outs(%fill : tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = linalg.matmul ins(%1, %x : tensor<512x512xf32>, tensor<512x512xf32>) outs(%fill : tensor<512x512xf32>) -> tensor<512x512xf32>
  %3 = util.optimization_barrier %2 : tensor<512x512xf32>
  %4 = linalg.matmul ins(%3, %x : tensor<512x512xf32>, tensor<512x512xf32>) outs(%fill : tensor<512x512xf32>) -> tensor<512x512xf32>
  %out = tensor.empty() : tensor<16x512x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%out : tensor<16x512x64xf32>) -> tensor<16x512x64xf32>
  %5 = linalg.batch_matmul ins(%0, %w : tensor<16x512x128xf32>, tensor<16x128x64xf32>) outs(%init : tensor<16x512x64xf32>) -> tensor<16x512x64xf32>
  return %5, %4 : tensor<16x512x64xf32>, tensor<512x512xf32>
}

// A cache and the row behind it are copied to one array, each to its part: the product reads both.
// CHECK: copy 8x1023x64 bf16 on mi300x {{.*}} read its operand in place in append_dispatch_2_{{.*}} instead of a dispatch that only moves elements
// CHECK: copy 8x64 bf16 on mi300x {{.*}} read its operand in place in append_dispatch_2_{{.*}} instead of a dispatch that only moves elements
func.func @append(%cache: tensor<8x1023x64xbf16>, %row: tensor<8x1x64xbf16>, %q: tensor<8x1x64xbf16>) -> tensor<8x1x1024xf32> {
  %0 = tensor.concat dim(1) %cache, %row : (tensor<8x1023x64xbf16>, tensor<8x1x64xbf16>) -> tensor<8x1024x64xbf16>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x1x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x1x1024xf32>) -> tensor<8x1x1024xf32>
  %1 = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %0 : tensor<8x1x64xbf16>, tensor<8x1024x64xbf16>) outs(%init : tensor<8x1x1024xf32>) -> tensor<8x1x1024xf32>
  return %1 : tensor<8x1x1024xf32>
}

// A transpose that is read here and returned too has to be there: quiet.
func.func @both(%x: tensor<512x16x32xf32>, %w: tensor<16x32x64xf32>) -> (tensor<16x512x64xf32>, tensor<16x512x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x512x32xf32>
  %0 = linalg.transpose ins(%x : tensor<512x16x32xf32>) outs(%empty : tensor<16x512x32xf32>) permutation = [1, 0, 2]
  %out = tensor.empty() : tensor<16x512x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%out : tensor<16x512x64xf32>) -> tensor<16x512x64xf32>
  %1 = linalg.batch_matmul ins(%0, %w : tensor<16x512x32xf32>, tensor<16x32x64xf32>) outs(%init : tensor<16x512x64xf32>) -> tensor<16x512x64xf32>
  return %1, %0 : tensor<16x512x64xf32>, tensor<16x512x32xf32>
}
