// A matmul with a bias, and a softmax over its rows.
func.func @main(%a: tensor<64x128xf32>, %b: tensor<128x256xf32>, %bias: tensor<64x256xf32>)
    -> tensor<64x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x256xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x256xf32>) -> tensor<64x256xf32>
  %product = linalg.matmul ins(%a, %b : tensor<64x128xf32>, tensor<128x256xf32>)
      outs(%zeros : tensor<64x256xf32>) -> tensor<64x256xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>,
                       affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%product, %bias : tensor<64x256xf32>, tensor<64x256xf32>)
      outs(%empty : tensor<64x256xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %z = arith.addf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<64x256xf32>
  %soft = linalg.softmax dimension(1) ins(%sum : tensor<64x256xf32>)
      outs(%empty : tensor<64x256xf32>) -> tensor<64x256xf32>
  return %soft : tensor<64x256xf32>
}
