// RUN: xpu-shark simulate %s --xpu-target=mi300x | FileCheck %s

// What one turn of a loop makes is copied for the next one to read: half of the time.
// CHECK: state on mi300x takes {{.*}} of it is 100 commands of the host (copy)
// CHECK: copy of 512 B (1x128xf32) on mi300x takes {{.*}} in all, {{.*}} each with the launch beside it; read in place by state_dispatch_0_{{.*}} (or several turns of the loop in one: one copy for all) instead of a copy made for that, 100 in a call: {{[0-9.]+}}x {{.*}} of state (explain host_moves:state.copy.512.{{.*}})
func.func @state(%x: tensor<1x128xf32>, %w: tensor<128x128xf32>) -> tensor<1x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c100 step %c1 iter_args(%a = %x) -> tensor<1x128xf32> {
    %empty = tensor.empty() : tensor<1x128xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x128xf32>) -> tensor<1x128xf32>
    %d = linalg.matmul ins(%a, %w : tensor<1x128xf32>, tensor<128x128xf32>) outs(%init : tensor<1x128xf32>) -> tensor<1x128xf32>
    scf.yield %d : tensor<1x128xf32>
  }
  return %r : tensor<1x128xf32>
}

// Each turn changes one row of each head of a cache, in a copy of what the turn before left.
// CHECK: copy of 131072 B on mi300x takes {{.*}}; changed in place by cache_dispatch_{{.*}} (a state in a util.global, not passed from turn to turn) instead of a copy made for that, 16 in a call
func.func @cache(%x: tensor<8x64x64xf32>, %y: tensor<8x1x64xf32>) -> tensor<8x64x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %r:2 = scf.for %i = %c0 to %c16 step %c1 iter_args(%a = %x, %q = %y) -> (tensor<8x64x64xf32>, tensor<8x1x64xf32>) {
    %0 = tensor.insert_slice %q into %a[0, %i, 0] [8, 1, 64] [1, 1, 1] : tensor<8x1x64xf32> into tensor<8x64x64xf32>
    %empty = tensor.empty() : tensor<8x1x64xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x1x64xf32>) -> tensor<8x1x64xf32>
    %1 = linalg.batch_matmul ins(%q, %0 : tensor<8x1x64xf32>, tensor<8x64x64xf32>) outs(%init : tensor<8x1x64xf32>) -> tensor<8x1x64xf32>
    scf.yield %0, %1 : tensor<8x64x64xf32>, tensor<8x1x64xf32>
  }
  return %r#0 : tensor<8x64x64xf32>
}

// Zeros around an image are a fill of all of it first.
// CHECK: fill of {{[0-9]+}} B on mi300x takes {{.*}}; padding in the loads of what reads it instead of an array filled first, 1 in a call
func.func @border(%x: tensor<254x254xf32>) -> tensor<254x254xf32> {
  %zero = arith.constant 0.0 : f32
  %pad = tensor.pad %x low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<254x254xf32> to tensor<256x256xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %empty = tensor.empty() : tensor<254x254xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<254x254xf32>) -> tensor<254x254xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k, l) -> (i + k, j + l)>, affine_map<(i, j, k, l) -> (k, l)>, affine_map<(i, j, k, l) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
    ins(%pad, %window : tensor<256x256xf32>, tensor<3x3xf32>) outs(%init : tensor<254x254xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.maximumf %a, %out : f32
    linalg.yield %1 : f32
  } -> tensor<254x254xf32>
  return %0 : tensor<254x254xf32>
}

// One whose old value is returned too has to be copied: quiet.
// CHECK-LABEL: both on mi300x takes
// CHECK-NOT: a copy made for that
func.func @both(%x: tensor<1001xf32>, %y: tensor<1001xf32>) -> (tensor<1001xf32>, tensor<1001xf32>) {
  %0 = iree_linalg_ext.sort dimension(0) outs(%x : tensor<1001xf32>) {
  ^bb0(%a: f32, %b: f32):
    %less = arith.cmpf olt, %a, %b : f32
    iree_linalg_ext.yield %less : i1
  } -> tensor<1001xf32>
  %1 = arith.addf %x, %0 : tensor<1001xf32>
  return %0, %1 : tensor<1001xf32>, tensor<1001xf32>
}
