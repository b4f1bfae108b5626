// A pre-norm transformer block: layer norm, 12-head attention, layer norm, GELU MLP.
// 128 tokens of width 768, hidden width 3072, bf16 with f32 where sums need it.

// Normalizes each row to mean 0 and variance 1, then scales and shifts.
func.func private @layer_norm(%x: tensor<128x768xbf16>, %scale: tensor<768xf32>,
    %shift: tensor<768xf32>) -> tensor<128x768xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %width = stablehlo.constant dense<768.0> : tensor<128xf32>
  %epsilon = stablehlo.constant dense<1.0e-5> : tensor<128xf32>
  %wide = stablehlo.convert %x : (tensor<128x768xbf16>) -> tensor<128x768xf32>
  %sum = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<128x768xf32>, tensor<f32>) -> tensor<128xf32>
  %mean = stablehlo.divide %sum, %width : tensor<128xf32>
  %mean_rows = stablehlo.broadcast_in_dim %mean, dims = [0]
    : (tensor<128xf32>) -> tensor<128x768xf32>
  %centered = stablehlo.subtract %wide, %mean_rows : tensor<128x768xf32>
  %squares = stablehlo.multiply %centered, %centered : tensor<128x768xf32>
  %square_sum = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<128x768xf32>, tensor<f32>) -> tensor<128xf32>
  %variance = stablehlo.divide %square_sum, %width : tensor<128xf32>
  %safe = stablehlo.add %variance, %epsilon : tensor<128xf32>
  %inverse = stablehlo.rsqrt %safe : tensor<128xf32>
  %inverse_rows = stablehlo.broadcast_in_dim %inverse, dims = [0]
    : (tensor<128xf32>) -> tensor<128x768xf32>
  %normal = stablehlo.multiply %centered, %inverse_rows : tensor<128x768xf32>
  %scale_rows = stablehlo.broadcast_in_dim %scale, dims = [1]
    : (tensor<768xf32>) -> tensor<128x768xf32>
  %shift_rows = stablehlo.broadcast_in_dim %shift, dims = [1]
    : (tensor<768xf32>) -> tensor<128x768xf32>
  %scaled = stablehlo.multiply %normal, %scale_rows : tensor<128x768xf32>
  %shifted = stablehlo.add %scaled, %shift_rows : tensor<128x768xf32>
  %result = stablehlo.convert %shifted : (tensor<128x768xf32>) -> tensor<128x768xbf16>
  return %result : tensor<128x768xbf16>
}

// Projects to one of queries, keys and values, and splits the width into 12 heads of 64.
func.func private @heads(%x: tensor<128x768xbf16>, %weight: tensor<768x768xbf16>)
    -> tensor<12x128x64xbf16> {
  %flat = stablehlo.dot_general %x, %weight, contracting_dims = [1] x [0]
    : (tensor<128x768xbf16>, tensor<768x768xbf16>) -> tensor<128x768xbf16>
  %split = stablehlo.reshape %flat : (tensor<128x768xbf16>) -> tensor<128x12x64xbf16>
  %result = stablehlo.transpose %split, dims = [1, 0, 2]
    : (tensor<128x12x64xbf16>) -> tensor<12x128x64xbf16>
  return %result : tensor<12x128x64xbf16>
}

// Softmax over the last dimension, shifted by the row's maximum so that exp stays finite.
func.func private @softmax(%scores: tensor<12x128x128xf32>) -> tensor<12x128x128xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %max = stablehlo.reduce(%scores init: %lowest) applies stablehlo.maximum across dimensions = [2]
    : (tensor<12x128x128xf32>, tensor<f32>) -> tensor<12x128xf32>
  %max_rows = stablehlo.broadcast_in_dim %max, dims = [0, 1]
    : (tensor<12x128xf32>) -> tensor<12x128x128xf32>
  %below = stablehlo.subtract %scores, %max_rows : tensor<12x128x128xf32>
  %exp = stablehlo.exponential %below : tensor<12x128x128xf32>
  %sum = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [2]
    : (tensor<12x128x128xf32>, tensor<f32>) -> tensor<12x128xf32>
  %sum_rows = stablehlo.broadcast_in_dim %sum, dims = [0, 1]
    : (tensor<12x128xf32>) -> tensor<12x128x128xf32>
  %share = stablehlo.divide %exp, %sum_rows : tensor<12x128x128xf32>
  %result = stablehlo.convert %share : (tensor<12x128x128xf32>) -> tensor<12x128x128xbf16>
  return %result : tensor<12x128x128xbf16>
}

// GELU in its tanh form: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
func.func private @gelu(%x: tensor<128x3072xbf16>) -> tensor<128x3072xbf16> {
  %half = stablehlo.constant dense<0.5> : tensor<128x3072xbf16>
  %one = stablehlo.constant dense<1.0> : tensor<128x3072xbf16>
  %cubic = stablehlo.constant dense<0.044715> : tensor<128x3072xbf16>
  %slope = stablehlo.constant dense<0.797884583> : tensor<128x3072xbf16>
  %square = stablehlo.multiply %x, %x : tensor<128x3072xbf16>
  %cube = stablehlo.multiply %square, %x : tensor<128x3072xbf16>
  %bend = stablehlo.multiply %cube, %cubic : tensor<128x3072xbf16>
  %bent = stablehlo.add %x, %bend : tensor<128x3072xbf16>
  %inner = stablehlo.multiply %bent, %slope : tensor<128x3072xbf16>
  %tanh = stablehlo.tanh %inner : tensor<128x3072xbf16>
  %gate = stablehlo.add %tanh, %one : tensor<128x3072xbf16>
  %halved = stablehlo.multiply %x, %half : tensor<128x3072xbf16>
  %result = stablehlo.multiply %halved, %gate : tensor<128x3072xbf16>
  return %result : tensor<128x3072xbf16>
}

func.func @block(%x: tensor<128x768xbf16>,
    %scale1: tensor<768xf32>, %shift1: tensor<768xf32>,
    %wq: tensor<768x768xbf16>, %wk: tensor<768x768xbf16>, %wv: tensor<768x768xbf16>,
    %wo: tensor<768x768xbf16>, %scale2: tensor<768xf32>, %shift2: tensor<768xf32>,
    %up: tensor<768x3072xbf16>, %down: tensor<3072x768xbf16>) -> tensor<128x768xbf16> {
  %x1 = call @layer_norm(%x, %scale1, %shift1)
    : (tensor<128x768xbf16>, tensor<768xf32>, tensor<768xf32>) -> tensor<128x768xbf16>
  %q = call @heads(%x1, %wq)
    : (tensor<128x768xbf16>, tensor<768x768xbf16>) -> tensor<12x128x64xbf16>
  %k = call @heads(%x1, %wk)
    : (tensor<128x768xbf16>, tensor<768x768xbf16>) -> tensor<12x128x64xbf16>
  %v = call @heads(%x1, %wv)
    : (tensor<128x768xbf16>, tensor<768x768xbf16>) -> tensor<12x128x64xbf16>
  %dot = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
    : (tensor<12x128x64xbf16>, tensor<12x128x64xbf16>) -> tensor<12x128x128xf32>
  %eighth = stablehlo.constant dense<0.125> : tensor<12x128x128xf32>  // 1 / sqrt(64)
  %scores = stablehlo.multiply %dot, %eighth : tensor<12x128x128xf32>
  %shares = call @softmax(%scores) : (tensor<12x128x128xf32>) -> tensor<12x128x128xbf16>
  %mixed = stablehlo.dot_general %shares, %v, batching_dims = [0] x [0],
      contracting_dims = [2] x [1]
    : (tensor<12x128x128xbf16>, tensor<12x128x64xbf16>) -> tensor<12x128x64xbf16>
  %tokens = stablehlo.transpose %mixed, dims = [1, 0, 2]
    : (tensor<12x128x64xbf16>) -> tensor<128x12x64xbf16>
  %merged = stablehlo.reshape %tokens : (tensor<128x12x64xbf16>) -> tensor<128x768xbf16>
  %projected = stablehlo.dot_general %merged, %wo, contracting_dims = [1] x [0]
    : (tensor<128x768xbf16>, tensor<768x768xbf16>) -> tensor<128x768xbf16>
  %attended = stablehlo.add %x, %projected : tensor<128x768xbf16>
  %x2 = call @layer_norm(%attended, %scale2, %shift2)
    : (tensor<128x768xbf16>, tensor<768xf32>, tensor<768xf32>) -> tensor<128x768xbf16>
  %hidden = stablehlo.dot_general %x2, %up, contracting_dims = [1] x [0]
    : (tensor<128x768xbf16>, tensor<768x3072xbf16>) -> tensor<128x3072xbf16>
  %active = call @gelu(%hidden) : (tensor<128x3072xbf16>) -> tensor<128x3072xbf16>
  %lowered = stablehlo.dot_general %active, %down, contracting_dims = [1] x [0]
    : (tensor<128x3072xbf16>, tensor<3072x768xbf16>) -> tensor<128x768xbf16>
  %result = stablehlo.add %attended, %lowered : tensor<128x768xbf16>
  return %result : tensor<128x768xbf16>
}
