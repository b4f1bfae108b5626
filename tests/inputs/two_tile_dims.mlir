// Tiles in two dimensions, the rows' last one smaller: 4 x 3 workgroups, launched along x alone.
func.func @main(%a: tensor<197x32xf32>, %b: tensor<32x192xf32>) -> tensor<197x192xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<197x192xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<197x192xf32>) -> tensor<197x192xf32>
  %m = linalg.matmul ins(%a, %b : tensor<197x32xf32>, tensor<32x192xf32>) outs(%f : tensor<197x192xf32>) -> tensor<197x192xf32>
  return %m : tensor<197x192xf32>
}
