// RUN: xpu-shark simulate %s --xpu-target=mi300x --iree-opt-level=O2 | FileCheck %s --implicit-check-not="in a dispatch of its own, whose result"

// Angles of a rotary embedding are computed once and loaded by two dispatches: each could do it.
// CHECK: its work in each of its readers instead of angles_dispatch_0_{{[a-z0-9_]*}} in a dispatch of its own, whose result 2 launches read (angles_dispatch_1_{{[a-z0-9_]*}} and angles_dispatch_2_{{[a-z0-9_]*}}): 1.
func.func @angles(%rate: tensor<64xf32>, %q: tensor<32x64xf32>, %k: tensor<4x64xf32>) -> (tensor<32x64xf32>, tensor<4x64xf32>) {
  %e = tensor.empty() : tensor<64xf32>
  %eq = tensor.empty() : tensor<32x64xf32>
  %ek = tensor.empty() : tensor<4x64xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%rate : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%x: f32, %out: f32):
    %c = math.cos %x : f32
    linalg.yield %c : f32
  } -> tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(h, i) -> (i)>, affine_map<(h, i) -> (h, i)>, affine_map<(h, i) -> (h, i)>], iterator_types = ["parallel", "parallel"]}
    ins(%a, %q : tensor<64xf32>, tensor<32x64xf32>) outs(%eq : tensor<32x64xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %c = arith.mulf %x, %y : f32
    linalg.yield %c : f32
  } -> tensor<32x64xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(h, i) -> (i)>, affine_map<(h, i) -> (h, i)>, affine_map<(h, i) -> (h, i)>], iterator_types = ["parallel", "parallel"]}
    ins(%a, %k : tensor<64xf32>, tensor<4x64xf32>) outs(%ek : tensor<4x64xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %c = arith.mulf %x, %y : f32
    linalg.yield %c : f32
  } -> tensor<4x64xf32>
  return %0, %1 : tensor<32x64xf32>, tensor<4x64xf32>
}

// A product that two dispatches read is better done once: quiet.
func.func @product(%x: tensor<256x512xf32>, %w: tensor<512x256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %r = tensor.empty() : tensor<256xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%r : tensor<256xf32>) -> tensor<256xf32>
  %p = linalg.matmul ins(%x, %w : tensor<256x512xf32>, tensor<512x256xf32>) outs(%i : tensor<256x256xf32>) -> tensor<256x256xf32>
  %0 = linalg.reduce { arith.addf } ins(%p : tensor<256x256xf32>) outs(%f : tensor<256xf32>) dimensions = [0]
  %1 = linalg.reduce { arith.maximumf } ins(%p : tensor<256x256xf32>) outs(%f : tensor<256xf32>) dimensions = [1]
  return %0, %1 : tensor<256xf32>, tensor<256xf32>
}

// The second reader needs what the first one makes: each has the exponentials for itself.
// CHECK: on mi300x {{.*}} its work in each of its readers instead of chained_dispatch_0_{{.*}} in a dispatch of its own, whose result 2 launches read
func.func @chained(%x: tensor<2048x8192xf32>) -> tensor<2048x8192xf32> {
  %0 = math.exp %x : tensor<2048x8192xf32>
  %shown = util.optimization_barrier %0 : tensor<2048x8192xf32>
  %zero = arith.constant 0.0 : f32
  %row = tensor.empty() : tensor<2048xf32>
  %init = linalg.fill ins(%zero : f32) outs(%row : tensor<2048xf32>) -> tensor<2048xf32>
  %1 = linalg.reduce ins(%shown : tensor<2048x8192xf32>) outs(%init : tensor<2048xf32>) dimensions = [1]
    (%a: f32, %out: f32) {
      %3 = arith.addf %a, %out : f32
      linalg.yield %3 : f32
    }
  %sums = util.optimization_barrier %1 : tensor<2048xf32>
  %empty = tensor.empty() : tensor<2048x8192xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%shown, %sums : tensor<2048x8192xf32>, tensor<2048xf32>) outs(%empty : tensor<2048x8192xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %3 = arith.divf %a, %b : f32
    linalg.yield %3 : f32
  } -> tensor<2048x8192xf32>
  return %2 : tensor<2048x8192xf32>
}
