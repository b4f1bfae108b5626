// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=xdna2 --no-print 2>&1 | FileCheck %s --implicit-check-not="in which they are used"

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// The unit has no f32, so this is vector work, and each weight is widened for each of 2048 rows.
// CHECK: [xpu-shark.precision] matmul 2048x512x512 f32 on xdna2 {{.*}} operands stored as f32, in which they are used instead of operands that are converted in the dispatch
func.func @widened(%a: tensor<2048x512xf32>, %b: tensor<512x512xi8>) -> tensor<2048x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x512xf32>) -> tensor<2048x512xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : tensor<2048x512xf32>, tensor<512x512xi8>) outs(%init : tensor<2048x512xf32>) {
  ^bb0(%x: f32, %y: i8, %out: f32):
    %1 = arith.sitofp %y : i8 to f32
    %2 = arith.mulf %x, %1 : f32
    %3 = arith.addf %out, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2048x512xf32>
  return %0 : tensor<2048x512xf32>
}

// One use of each weight: reading four times the bytes costs more than the conversions. Quiet.
func.func @once(%x: tensor<1048576xi8>) -> tensor<1048576xf32> {
  %empty = tensor.empty() : tensor<1048576xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<1048576xi8>) outs(%empty : tensor<1048576xf32>) {
  ^bb0(%y: i8, %out: f32):
    %1 = arith.sitofp %y : i8 to f32
    linalg.yield %1 : f32
  } -> tensor<1048576xf32>
  return %0 : tensor<1048576xf32>
}
