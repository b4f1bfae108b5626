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
