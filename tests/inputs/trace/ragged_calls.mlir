// Sums the first `lengths[k, i]` elements of each row i, for k = 0, 1, 2: three launches of one
// kernel, whose inner loop turns as often as the data says.
func.func @sums(%x: tensor<4x16xf32>, %lengths: tensor<3x4xi32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %start = arith.constant dense<0.0> : tensor<4xf32>
  %sums = scf.for %k = %c0 to %c3 step %c1 iter_args(%sum = %start) -> (tensor<4xf32>) {
    %slice = tensor.extract_slice %lengths[%k, 0] [1, 4] [1, 1] : tensor<3x4xi32> to tensor<4xi32>
    %next = flow.dispatch.region -> (tensor<4xf32>) {
      %c4 = arith.constant 4 : index
      %empty = tensor.empty() : tensor<4xf32>
      %rows = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %empty) -> (tensor<4xf32>) {
        %n = tensor.extract %slice[%i] : tensor<4xi32>
        %end = arith.index_cast %n : i32 to index
        %first = tensor.extract %sum[%i] : tensor<4xf32>
        %row = scf.for %j = %c0 to %end step %c1 iter_args(%s = %first) -> (f32) {
          %v = tensor.extract %x[%i, %j] : tensor<4x16xf32>
          %t = arith.addf %s, %v : f32
          scf.yield %t : f32
        }
        %put = tensor.insert %row into %acc[%i] : tensor<4xf32>
        scf.yield %put : tensor<4xf32>
      }
      flow.return %rows : tensor<4xf32>
    }
    scf.yield %next : tensor<4xf32>
  }
  return %sums : tensor<4xf32>
}
