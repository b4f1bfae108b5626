// Mean, then variance of the centred rows, then normalisation: two dispatches by default.
func.func @layer_norm(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %zero = arith.constant 0.0 : f32
  %width = arith.constant 256.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %column = tensor.empty() : tensor<64xf32>
  %wide = tensor.empty() : tensor<64x256xf32>
  %start = linalg.fill ins(%zero : f32) outs(%column : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x256xf32>) outs(%start : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %centred = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x256xf32>, tensor<64xf32>) outs(%wide : tensor<64x256xf32>) {
  ^bb0(%in: f32, %total: f32, %out: f32):
    %mean = arith.divf %total, %width : f32
    %d = arith.subf %in, %mean : f32
    linalg.yield %d : f32
  } -> tensor<64x256xf32>
  %squares = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>], iterator_types = ["parallel", "reduction"]} ins(%centred : tensor<64x256xf32>) outs(%start : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.mulf %in, %in : f32
    %s = arith.addf %out, %q : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %result = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]} ins(%centred, %squares : tensor<64x256xf32>, tensor<64xf32>) outs(%wide : tensor<64x256xf32>) {
  ^bb0(%in: f32, %total: f32, %out: f32):
    %variance = arith.divf %total, %width : f32
    %safe = arith.addf %variance, %epsilon : f32
    %scale = math.rsqrt %safe : f32
    %y = arith.mulf %in, %scale : f32
    linalg.yield %y : f32
  } -> tensor<64x256xf32>
  return %result : tensor<64x256xf32>
}
