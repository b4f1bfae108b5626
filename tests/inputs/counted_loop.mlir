// Eight products in a loop, each with the result of the one before.
func.func @power(%x: tensor<16x16xf32>, %rows: tensor<?x16xf32>) -> (tensor<16x16xf32>, tensor<?x16xf32>) {
  %first = stablehlo.constant dense<0> : tensor<i32>
  %end = stablehlo.constant dense<8> : tensor<i32>
  %step = stablehlo.constant dense<1> : tensor<i32>
  %i, %power = stablehlo.while(%at = %first, %so_far = %x) : tensor<i32>, tensor<16x16xf32>
   cond {
    %more = stablehlo.compare LT, %at, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %at, %step : tensor<i32>
    %product = stablehlo.dot_general %so_far, %x, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    stablehlo.return %next, %product : tensor<i32>, tensor<16x16xf32>
  }
  %scaled = stablehlo.dot_general %rows, %power, contracting_dims = [1] x [0] : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  return %power, %scaled : tensor<16x16xf32>, tensor<?x16xf32>
}
