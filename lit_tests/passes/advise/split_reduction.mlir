// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=mi300x --no-print 2>&1 | FileCheck %s --implicit-check-not="split the reduction"

// One tile, a long reduction, 304 cores: cut it, and it alone: the flag would cut @wide as well.
// CHECK-DAG: matmul 16x16x65536 f32 {{.*}} split the reduction of 65536 into 256 parts (iree_linalg_ext.split_reduction = [256 : index] on its linalg op) instead of 1 tiles on 304 cores
func.func @long(%a: tensor<16x65536xf32>, %b: tensor<65536x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x16xf32>) -> tensor<16x16xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<16x65536xf32>, tensor<65536x16xf32>) outs(%init : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// Enough tiles for the cores: quiet.
func.func @wide(%a: tensor<4096x4096xf32>, %b: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4096x4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4096x4096xf32>, tensor<4096x4096xf32>) outs(%init : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// Too short to cut: quiet.
func.func @short(%a: tensor<16x128xf32>, %b: tensor<128x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x16xf32>) -> tensor<16x16xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<16x128xf32>, tensor<128x16xf32>) outs(%init : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// What comes behind the product goes on behind the pass that adds the parts up.
// CHECK-DAG: matmul 33x33x90000 f32 {{.*}} split the reduction of 90000 into 100 parts {{.*}} instead of 3 tiles on 304 cores
func.func @epilogue(%a: tensor<33x90000xf32>, %b: tensor<90000x33xf32>, %row: tensor<33xf32>) -> tensor<33x33xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<33x33xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<33x33xf32>) -> tensor<33x33xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<33x90000xf32>, tensor<90000x33xf32>) outs(%init : tensor<33x33xf32>) -> tensor<33x33xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%0, %row : tensor<33x33xf32>, tensor<33xf32>) outs(%empty : tensor<33x33xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %sum = arith.addf %x, %y : f32
    %cut = arith.maximumf %sum, %zero : f32
    linalg.yield %cut : f32
  } -> tensor<33x33xf32>
  return %1 : tensor<33x33xf32>
}

// One op reduces over one loop and nothing is fused into it: it can be split alone.
// CHECK-DAG: reduce 4000000 f32 {{.*}} into 256 parts (iree_linalg_ext.split_reduction = [15625 : index] on its linalg op, if that reduces over one loop) instead
func.func @sum(%a: tensor<4000000xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %0 = linalg.reduce { arith.addf } ins(%a : tensor<4000000xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %0 : tensor<f32>
}

// IREE would lose the attribute where it fuses the squares into the sum.
// CHECK-DAG: reduction 4096000 f32 {{.*}} into {{[0-9]+}} parts instead
func.func @squares(%a: tensor<4096000xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%a : tensor<4096000xf32>) outs(%init : tensor<f32>) {
  ^bb0(%x: f32, %out: f32):
    %square = arith.mulf %x, %x : f32
    %sum = arith.addf %square, %out : f32
    linalg.yield %sum : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}
