// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=tiny --no-print 2>&1 | FileCheck %s --implicit-check-not="instead of div"

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Two divisions at 4 cycles by values that are the same along a row; a reciprocal is one a row.
// CHECK: [xpu-shark.tiling] elementwise 256x512 f32 on tiny {{.*}} the reciprocal once a row, then multiplications instead of div, 67 % of the vector unit's cycles
func.func @scaled(%x: tensor<256x512xf32>, %s: tensor<256xf32>, %t: tensor<256xf32>) -> tensor<256x512xf32> {
  %empty = tensor.empty() : tensor<256x512xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %s, %t : tensor<256x512xf32>, tensor<256xf32>, tensor<256xf32>) outs(%empty : tensor<256x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %1 = math.exp %a : f32
    %2 = arith.divf %1, %b : f32
    %3 = arith.divf %2, %c : f32
    linalg.yield %3 : f32
  } -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}

// Divisors of their own for each element have no cheaper form: quiet.
func.func @own_divisors(%x: tensor<128x512xf32>, %y: tensor<128x512xf32>) -> tensor<128x512xf32> {
  %empty = tensor.empty() : tensor<128x512xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %y : tensor<128x512xf32>, tensor<128x512xf32>) outs(%empty : tensor<128x512xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = math.exp %a : f32
    %2 = math.exp %1 : f32
    %3 = arith.divf %2, %b : f32
    linalg.yield %3 : f32
  } -> tensor<128x512xf32>
  return %0 : tensor<128x512xf32>
}
