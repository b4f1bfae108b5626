// Sums the first `lengths[i]` elements of each row: the inner loop's trip count is data.
// Then halves the largest length until it is 1: a loop without a trip count.
func.func @ragged(%x: tensor<4x16xf32>, %lengths: tensor<4xi32>) -> (tensor<4xf32>, tensor<i32>) {
  %0:2 = flow.dispatch.region -> (tensor<4xf32>, tensor<i32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %one = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<4xf32>
    %sums = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %empty) -> (tensor<4xf32>) {
      %n = tensor.extract %lengths[%i] : tensor<4xi32>
      %end = arith.index_cast %n : i32 to index
      %sum = scf.for %j = %c0 to %end step %c1 iter_args(%s = %zero) -> (f32) {
        %v = tensor.extract %x[%i, %j] : tensor<4x16xf32>
        %t = arith.addf %s, %v : f32
        scf.yield %t : f32
      }
      %next = tensor.insert %sum into %acc[%i] : tensor<4xf32>
      scf.yield %next : tensor<4xf32>
    }
    %first = tensor.extract %lengths[%c0] : tensor<4xi32>
    %halvings, %rest = scf.while (%k = %c0, %n = %first) : (index, i32) -> (index, i32) {
      %more = arith.cmpi sgt, %n, %one : i32
      scf.condition(%more) %k, %n : index, i32
    } do {
    ^bb0(%k: index, %n: i32):
      %up = arith.addi %k, %c1 : index
      %half = arith.shrsi %n, %one : i32
      scf.yield %up, %half : index, i32
    }
    %count = arith.index_cast %halvings : index to i32
    %scalar = tensor.empty() : tensor<i32>
    %result = tensor.insert %count into %scalar[] : tensor<i32>
    flow.return %sums, %result : tensor<4xf32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<i32>
}
