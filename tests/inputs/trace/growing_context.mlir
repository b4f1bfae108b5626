// Ten steps over a growing part of `cache`: 64 rows in the first, 640 in the last.
func.func @main(%cache: tensor<640x64xf32>, %query: tensor<64x32xf32>) -> tensor<640x32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c11 = arith.constant 11 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<640x32xf32>
  %none = linalg.fill ins(%zero : f32) outs(%empty : tensor<640x32xf32>) -> tensor<640x32xf32>
  %all = scf.for %step = %c1 to %c11 step %c1 iter_args(%scores = %none) -> (tensor<640x32xf32>) {
    %rows = arith.muli %step, %c64 : index
    %seen = tensor.extract_slice %cache[0, 0] [%rows, 64] [1, 1]
        : tensor<640x64xf32> to tensor<?x64xf32>
    %init = tensor.empty(%rows) : tensor<?x32xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%init : tensor<?x32xf32>) -> tensor<?x32xf32>
    %product = linalg.matmul ins(%seen, %query : tensor<?x64xf32>, tensor<64x32xf32>)
        outs(%zeros : tensor<?x32xf32>) -> tensor<?x32xf32>
    %next = tensor.insert_slice %product into %scores[0, 0] [%rows, 32] [1, 1]
        : tensor<?x32xf32> into tensor<640x32xf32>
    scf.yield %next : tensor<640x32xf32>
  }
  return %all : tensor<640x32xf32>
}
