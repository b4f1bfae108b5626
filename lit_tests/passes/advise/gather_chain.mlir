// RUN: xpu-shark simulate %s --xpu-target=mi300x --iree-opt-level=O2 | FileCheck %s --implicit-check-not="picks again"

// Pages picked from a cache, then a few tokens from the pages: the pages need not be copied.
// CHECK: one pick by an index of an index instead of 512x2048 f32 that paged_dispatch_0_{{[a-z0-9_]*}} picks, of which paged_dispatch_1_{{[a-z0-9_]*}} picks again: 2.{{.*}} saves {{.*}} of paged
func.func @paged(%cache: tensor<4096x2048xf32>, %pages: tensor<512xi32>, %tokens: tensor<64xi32>) -> tensor<64x2048xf32> {
  %e0 = tensor.empty() : tensor<512x2048xf32>
  %e1 = tensor.empty() : tensor<64x2048xf32>
  %p = iree_linalg_ext.gather dimension_map = [0] ins(%cache, %pages : tensor<4096x2048xf32>, tensor<512xi32>) outs(%e0 : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %t = iree_linalg_ext.gather dimension_map = [0] ins(%p, %tokens : tensor<512x2048xf32>, tensor<64xi32>) outs(%e1 : tensor<64x2048xf32>) -> tensor<64x2048xf32>
  return %t : tensor<64x2048xf32>
}

// The pages are a result of the function as well, so they have to be there: quiet.
func.func @kept(%cache: tensor<4096x2048xf32>, %pages: tensor<512xi32>, %tokens: tensor<64xi32>) -> (tensor<512x2048xf32>, tensor<64x2048xf32>) {
  %e0 = tensor.empty() : tensor<512x2048xf32>
  %e1 = tensor.empty() : tensor<64x2048xf32>
  %p = iree_linalg_ext.gather dimension_map = [0] ins(%cache, %pages : tensor<4096x2048xf32>, tensor<512xi32>) outs(%e0 : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %t = iree_linalg_ext.gather dimension_map = [0] ins(%p, %tokens : tensor<512x2048xf32>, tensor<64xi32>) outs(%e1 : tensor<64x2048xf32>) -> tensor<64x2048xf32>
  return %p, %t : tensor<512x2048xf32>, tensor<64x2048xf32>
}

// One gather, whose result is added up and not picked from: quiet.
func.func @summed(%cache: tensor<4096x2048xf32>, %pages: tensor<512xi32>) -> tensor<2048xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<512x2048xf32>
  %e1 = tensor.empty() : tensor<2048xf32>
  %p = iree_linalg_ext.gather dimension_map = [0] ins(%cache, %pages : tensor<4096x2048xf32>, tensor<512xi32>) outs(%e0 : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2048xf32>) -> tensor<2048xf32>
  %s = linalg.reduce { arith.addf } ins(%p : tensor<512x2048xf32>) outs(%init : tensor<2048xf32>) dimensions = [0]
  return %s : tensor<2048xf32>
}
