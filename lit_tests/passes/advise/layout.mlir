// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=mi300x --no-print 2>&1 | FileCheck %s --implicit-check-not="strided access"

// A workgroup adds up a few columns; each of their elements is in a burst of 64 bytes of its own.
// CHECK: [xpu-shark.memory] reduce 4096x1024 f32 on mi300x {{.*}} the 4096x1024xf32 operand stored with its dimensions in the order [1, 0] instead of strided access to it
func.func @columns(%x: tensor<4096x1024xf32>) -> tensor<1024xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024xf32>) -> tensor<1024xf32>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<4096x1024xf32>) outs(%init : tensor<1024xf32>) dimensions = [0]
  return %0 : tensor<1024xf32>
}

// Rows are contiguous: quiet.
func.func @rows(%x: tensor<2048x1024xf32>) -> tensor<2048xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048xf32>) -> tensor<2048xf32>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<2048x1024xf32>) outs(%init : tensor<2048xf32>) dimensions = [1]
  return %0 : tensor<2048xf32>
}

// One field of records of sixteen: each of its elements is in a burst of its own.
// CHECK: [xpu-shark.memory] elementwise 1048576 f32 on mi300x {{.*}} the 1048576x16xf32 operand stored without what lies between its elements, as an array of its own instead of strided access to it, 67108864 B in bursts of 64 B for 4194304 B
func.func @field(%x: tensor<1048576x16xf32>) -> tensor<1048576xf32> {
  %0 = tensor.extract_slice %x[0, 3] [1048576, 1] [1, 1] : tensor<1048576x16xf32> to tensor<1048576xf32>
  %empty = tensor.empty() : tensor<1048576xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%0 : tensor<1048576xf32>) outs(%empty : tensor<1048576xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %in : f32
    linalg.yield %2 : f32
  } -> tensor<1048576xf32>
  return %1 : tensor<1048576xf32>
}

// Every fourth element, by the indexing map.
// CHECK: [xpu-shark.memory] elementwise 1049600 f32 on mi300x {{.*}} the 4198400xf32 operand stored without what lies between its elements, as an array of its own instead of strided access to it, 16{{[0-9]+}} B in bursts of 64 B for 42{{[0-9]+}} B
func.func @fourth(%x: tensor<4198400xf32>) -> tensor<1049600xf32> {
  %empty = tensor.empty() : tensor<1049600xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (4 * i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4198400xf32>) outs(%empty : tensor<1049600xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.mulf %in, %in : f32
    linalg.yield %1 : f32
  } -> tensor<1049600xf32>
  return %0 : tensor<1049600xf32>
}

// Records of sixteen fields, of which every eighth is taken whole: bursts are full. Quiet.
func.func @records(%x: tensor<65536x8x16xf32>) -> tensor<65536x16xf32> {
  %0 = tensor.extract_slice %x[0, 3, 0] [65536, 1, 16] [1, 1, 1] : tensor<65536x8x16xf32> to tensor<65536x16xf32>
  %empty = tensor.empty() : tensor<65536x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%0 : tensor<65536x16xf32>) outs(%empty : tensor<65536x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.mulf %in, %in : f32
    linalg.yield %2 : f32
  } -> tensor<65536x16xf32>
  return %1 : tensor<65536x16xf32>
}
