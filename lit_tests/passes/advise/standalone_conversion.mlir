// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e | FileCheck %s --implicit-check-not="for others to read"
// RUN: xpu-shark explain standalone_conversion | FileCheck %s --check-prefix=RULE

// RULE: standalone_conversion: a dispatch only converts what another one reads.
// RULE: What to do:

#rows = affine_map<(m, n, k) -> (m, k)>
#cols = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Weights of 4 bits go out to memory as f32: eight times their bytes, twice.
// CHECK: on tpu_v6e takes {{.*}} together; converted as it is loaded, in dequantised_dispatch_1_matmul{{[^ ]*}} (an op that takes i4 and converts it in its body, or --iree-opt-level=O2 where that fuses the two) instead of a dispatch that converts i4 to f32 for others to read: {{[5-9]}}.{{.*}} of dequantised
func.func @dequantised(%x: tensor<64x4096xf32>, %w: tensor<4096x4096xi4>, %s: tensor<4096xf32>) -> tensor<64x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<4096x4096xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%w, %s : tensor<4096x4096xi4>, tensor<4096xf32>) outs(%wide : tensor<4096x4096xf32>) {
  ^bb0(%a: i4, %scale: f32, %o: f32):
    %1 = arith.sitofp %a : i4 to f32
    %2 = arith.mulf %1, %scale : f32
    linalg.yield %2 : f32
  } -> tensor<4096x4096xf32>
  %empty = tensor.empty() : tensor<64x4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x4096xf32>) -> tensor<64x4096xf32>
  %3 = linalg.matmul indexing_maps = [#rows, #cols, #out] ins(%x, %0 : tensor<64x4096xf32>, tensor<4096x4096xf32>) outs(%init : tensor<64x4096xf32>) -> tensor<64x4096xf32>
  return %3 : tensor<64x4096xf32>
}

// Groups of 32 that share a scale, which the product sees as a matrix.
// CHECK: on tpu_v6e takes {{.*}} together; converted as it is loaded, in grouped_dispatch_1_matmul{{[^ ]*}} (an op that takes i4 {{.*}} of grouped
func.func @grouped(%x: tensor<8x4096xf32>, %w: tensor<4096x128x32xi4>, %s: tensor<4096x128xf32>) -> tensor<8x4096xf32> {
  %0 = stablehlo.convert %w : (tensor<4096x128x32xi4>) -> tensor<4096x128x32xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<4096x128xf32>) -> tensor<4096x128x32xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<4096x128x32xf32>
  %3 = stablehlo.reshape %2 : (tensor<4096x128x32xf32>) -> tensor<4096x4096xf32>
  %4 = stablehlo.dot_general %x, %3, contracting_dims = [1] x [1] : (tensor<8x4096xf32>, tensor<4096x4096xf32>) -> tensor<8x4096xf32>
  return %4 : tensor<8x4096xf32>
}

// Weights that are stored wide and used narrow, in a region that nothing fuses.
// CHECK: on tpu_v6e takes {{.*}} together; stored as bf16, the type in which narrowed_dispatch_1_matmul{{[^ ]*}} reads it instead of a dispatch that converts f32 to bf16 for others to read: {{.*}} of narrowed
func.func @narrowed(%x: tensor<256x2048xbf16>, %w: tensor<2048x2048xf32>) -> tensor<256x2048xf32> {
  %narrow = tensor.empty() : tensor<2048x2048xbf16>
  %0 = flow.dispatch.region -> (tensor<2048x2048xbf16>) {
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<2048x2048xf32>) outs(%narrow : tensor<2048x2048xbf16>) {
    ^bb0(%a: f32, %o: bf16):
      %2 = arith.truncf %a : f32 to bf16
      linalg.yield %2 : bf16
    } -> tensor<2048x2048xbf16>
    flow.return %1 : tensor<2048x2048xbf16>
  }
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x2048xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x2048xf32>) -> tensor<256x2048xf32>
  %3 = linalg.matmul ins(%x, %0 : tensor<256x2048xbf16>, tensor<2048x2048xbf16>) outs(%init : tensor<256x2048xf32>) -> tensor<256x2048xf32>
  return %3 : tensor<256x2048xf32>
}

// Converted by the op that uses it: quiet.
func.func @inside(%x: tensor<64x2048xf32>, %w: tensor<2048x2048xi4>) -> tensor<64x2048xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x2048xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x2048xf32>) -> tensor<64x2048xf32>
  %0 = linalg.generic {indexing_maps = [#rows, #cols, #out], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<64x2048xf32>, tensor<2048x2048xi4>) outs(%init : tensor<64x2048xf32>) {
  ^bb0(%a: f32, %b: i4, %acc: f32):
    %1 = arith.sitofp %b : i4 to f32
    %2 = arith.mulf %a, %1 : f32
    %3 = arith.addf %acc, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<64x2048xf32>
  return %0 : tensor<64x2048xf32>
}

// The wide result is what the function is for: quiet.
func.func @wanted(%w: tensor<2048x2048xi4>) -> tensor<2048x2048xf32> {
  %wide = tensor.empty() : tensor<2048x2048xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%w : tensor<2048x2048xi4>) outs(%wide : tensor<2048x2048xf32>) {
  ^bb0(%a: i4, %o: f32):
    %1 = arith.sitofp %a : i4 to f32
    linalg.yield %1 : f32
  } -> tensor<2048x2048xf32>
  return %0 : tensor<2048x2048xf32>
}
