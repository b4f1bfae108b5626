// RUN: xpu-shark simulate %s --xpu-target=mi300x --iree-opt-level=O2 --iree-dispatch-creation-fuse-multi-use=false --xpu-effort=high | FileCheck %s
// RUN: xpu-shark simulate %s --xpu-target=mi300x --iree-opt-level=O2 --xpu-effort=high | FileCheck %s --check-prefix=ON

// A square that a sum over rows and an addition both read: with the flag on, which is IREE's default,
// it is computed in one of them.
// CHECK: --iree-dispatch-creation-fuse-multi-use makes 1 of them (squares as a whole 1.{{[0-9]+}}x) instead of {{[23]}} dispatches
// ON-NOT: --iree-dispatch-creation-fuse-multi-use
func.func @squares(%x: tensor<1024x512xf32>, %y: tensor<1024x512xf32>) -> (tensor<1024xf32>, tensor<1024x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<1024x512xf32>
  %rows = tensor.empty() : tensor<1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%rows : tensor<1024xf32>) -> tensor<1024xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%x, %y : tensor<1024x512xf32>, tensor<1024x512xf32>) outs(%wide : tensor<1024x512xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<1024x512xf32>
  %sum = linalg.reduce { arith.addf } ins(%0 : tensor<1024x512xf32>) outs(%init : tensor<1024xf32>) dimensions = [1]
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%0, %sum : tensor<1024x512xf32>, tensor<1024xf32>) outs(%wide : tensor<1024x512xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.divf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<1024x512xf32>
  return %sum, %1 : tensor<1024xf32>, tensor<1024x512xf32>
}
