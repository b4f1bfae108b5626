// 33 x 33 results, a reduction whose length the run decides.
func.func @main(%a: tensor<33x?xf32>, %b: tensor<?x33xf32>) -> tensor<33x33xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<33x33xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<33x33xf32>) -> tensor<33x33xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<33x?xf32>, tensor<?x33xf32>) outs(%init : tensor<33x33xf32>) -> tensor<33x33xf32>
  return %0 : tensor<33x33xf32>
}
