// One layer of an MLP; the batch is known at run time only.
func.func @layer(%rows: tensor<?x64xf32>, %weights: tensor<64x128xf32>) -> tensor<?x128xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %rows, %c0 : tensor<?x64xf32>
  %empty = tensor.empty(%batch) : tensor<?x128xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x128xf32>) -> tensor<?x128xf32>
  %product = linalg.matmul ins(%rows, %weights : tensor<?x64xf32>, tensor<64x128xf32>)
      outs(%zeros : tensor<?x128xf32>) -> tensor<?x128xf32>
  return %product : tensor<?x128xf32>
}
