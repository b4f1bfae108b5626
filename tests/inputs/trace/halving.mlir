// Halves until the value is at most 1: 7 times for 100.
func.func @halve(%start: tensor<16xf32>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : index
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %end = scf.while (%now = %start) : (tensor<16xf32>) -> tensor<16xf32> {
    %first = tensor.extract %now[%c0] : tensor<16xf32>
    %more = arith.cmpf ogt, %first, %one : f32
    scf.condition(%more) %now : tensor<16xf32>
  } do {
  ^bb0(%now: tensor<16xf32>):
    %empty = tensor.empty() : tensor<16xf32>
    %next = linalg.generic {
        indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
        iterator_types = ["parallel"]}
        ins(%now : tensor<16xf32>) outs(%empty : tensor<16xf32>) {
    ^bb0(%x: f32, %out: f32):
      %y = arith.mulf %x, %half : f32
      linalg.yield %y : f32
    } -> tensor<16xf32>
    scf.yield %next : tensor<16xf32>
  }
  return %end : tensor<16xf32>
}
