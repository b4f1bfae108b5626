// RUN: xpu-shark simulate %s --xpu-target=mi300x | FileCheck %s --implicit-check-not="dispatches that read the same"
// RUN: xpu-shark simulate %s --xpu-target=mi300x --xpu-effort=high | FileCheck %s --check-prefix=HIGH --implicit-check-not="dispatches that read the same"

// Query, key and value with fewer heads of the latter: one product of all columns.
// CHECK: one product with the weights side by side (1536 columns), sliced instead of 3 dispatches that read the same 64x1024xbf16, gqa_dispatch_0_matmul_64x1024x1024_bf16xbf16xf32 + 2 of gqa_dispatch_1_matmul_64x256x1024_bf16xbf16xf32
// IREE's own flag joins key and value alone: both ways are told.
// HIGH: one product with the weights side by side (1536 columns), sliced instead of 3 dispatches that read the same 64x1024xbf16
// HIGH: --iree-dispatch-creation-enable-fuse-horizontal-contractions makes 1 of them ({{[a-z]+}} as a whole 1.{{[0-9]+}}x) instead of 2 dispatches of gqa_dispatch_1_matmul_64x256x1024_bf16xbf16xf32
func.func @gqa(%x: tensor<64x1024xbf16>, %wq: tensor<1024x1024xbf16>, %wk: tensor<1024x256xbf16>, %wv: tensor<1024x256xbf16>, %mq: tensor<1024x32xf32>, %mk: tensor<256x32xf32>, %mv: tensor<256x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %few = tensor.empty() : tensor<64x32xf32>
  %least = linalg.fill ins(%zero : f32) outs(%few : tensor<64x32xf32>) -> tensor<64x32xf32>
  %wide = tensor.empty() : tensor<64x1024xf32>
  %narrow = tensor.empty() : tensor<64x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%wide : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %less = linalg.fill ins(%zero : f32) outs(%narrow : tensor<64x256xf32>) -> tensor<64x256xf32>
  %q = linalg.matmul ins(%x, %wq : tensor<64x1024xbf16>, tensor<1024x1024xbf16>) outs(%init : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %k = linalg.matmul ins(%x, %wk : tensor<64x1024xbf16>, tensor<1024x256xbf16>) outs(%less : tensor<64x256xf32>) -> tensor<64x256xf32>
  %v = linalg.matmul ins(%x, %wv : tensor<64x1024xbf16>, tensor<1024x256xbf16>) outs(%less : tensor<64x256xf32>) -> tensor<64x256xf32>
  %qm = linalg.matmul ins(%q, %mq : tensor<64x1024xf32>, tensor<1024x32xf32>) outs(%least : tensor<64x32xf32>) -> tensor<64x32xf32>
  %km = linalg.matmul ins(%k, %mk : tensor<64x256xf32>, tensor<256x32xf32>) outs(%least : tensor<64x32xf32>) -> tensor<64x32xf32>
  %vm = linalg.matmul ins(%v, %mv : tensor<64x256xf32>, tensor<256x32xf32>) outs(%least : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %qm, %km, %vm : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
}

// Results that are returned would be copied out of a wide one, which costs what joining them saves:
// one dispatch that writes both.
// CHECK: one dispatch for these 2 products instead of 2 dispatches that read the same 64x1024xbf16, gqa_dispatch_1_{{[a-z0-9_]*}} + returned_dispatch_1_
// HIGH: one dispatch for these 2 products instead of 2 dispatches that read the same 64x1024xbf16
func.func @returned(%x: tensor<64x1024xbf16>, %a: tensor<1024x256xbf16>, %b: tensor<1024x128xbf16>) -> (tensor<64x256xf32>, tensor<64x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %more = tensor.empty() : tensor<64x256xf32>
  %less = tensor.empty() : tensor<64x128xf32>
  %init0 = linalg.fill ins(%zero : f32) outs(%more : tensor<64x256xf32>) -> tensor<64x256xf32>
  %init1 = linalg.fill ins(%zero : f32) outs(%less : tensor<64x128xf32>) -> tensor<64x128xf32>
  %0 = linalg.matmul ins(%x, %a : tensor<64x1024xbf16>, tensor<1024x256xbf16>) outs(%init0 : tensor<64x256xf32>) -> tensor<64x256xf32>
  %1 = linalg.matmul ins(%x, %b : tensor<64x1024xbf16>, tensor<1024x128xbf16>) outs(%init1 : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %0, %1 : tensor<64x256xf32>, tensor<64x128xf32>
}

// The second product sums up what the first makes: no tile of it can be done beside. Quiet.
func.func @depends(%x: tensor<256x256xbf16>, %a: tensor<256x256xbf16>) -> tensor<256x256xbf16> {
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
  return %1 : tensor<256x256xbf16>
}

// Gate and up projection: the activation that reads both is in one of the dispatches, and where
// IREE's flag joins them its suggestion is the one that is given.
// CHECK: one dispatch for these 2 products instead of 2 dispatches that read the same 64x512xbf16, mlp_dispatch_0_{{.*}} + mlp_dispatch_1_
// HIGH: --iree-dispatch-creation-enable-fuse-horizontal-contractions makes 1 of them ({{[a-z]+}} as a whole 1.{{[0-9]+}}x) instead of 2 dispatches, mlp_dispatch_0_{{.*}} -> mlp_dispatch_1_
func.func @mlp(%x: tensor<64x512xbf16>, %wg: tensor<512x2048xbf16>, %wu: tensor<512x2048xbf16>) -> tensor<64x2048xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x2048xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x2048xf32>) -> tensor<64x2048xf32>
  %gate = linalg.matmul ins(%x, %wg : tensor<64x512xbf16>, tensor<512x2048xbf16>) outs(%init : tensor<64x2048xf32>) -> tensor<64x2048xf32>
  %up = linalg.matmul ins(%x, %wu : tensor<64x512xbf16>, tensor<512x2048xbf16>) outs(%init : tensor<64x2048xf32>) -> tensor<64x2048xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%gate, %up : tensor<64x2048xf32>, tensor<64x2048xf32>) outs(%empty : tensor<64x2048xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %c = arith.mulf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<64x2048xf32>
  return %0 : tensor<64x2048xf32>
}

// The second product waits for a dispatch that reads the first one: they cannot be one. Quiet.
func.func @chain(%x: tensor<64x1024xbf16>, %w0: tensor<1024x1024xbf16>, %w1: tensor<1024x64xbf16>) -> (tensor<1024xf32>, tensor<64x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<64x1024xf32>
  %row = tensor.empty() : tensor<1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%wide : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %start = linalg.fill ins(%zero : f32) outs(%row : tensor<1024xf32>) -> tensor<1024xf32>
  %0 = linalg.matmul ins(%x, %w0 : tensor<64x1024xbf16>, tensor<1024x1024xbf16>) outs(%init : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %sum = linalg.reduce { arith.addf } ins(%0 : tensor<64x1024xf32>) outs(%start : tensor<1024xf32>) dimensions = [0]
  %half = tensor.empty() : tensor<1024xbf16>
  %scale = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%sum : tensor<1024xf32>) outs(%half : tensor<1024xbf16>) {
  ^bb0(%a: f32, %out: bf16):
    %c = arith.truncf %a : f32 to bf16
    linalg.yield %c : bf16
  } -> tensor<1024xbf16>
  %scaled = tensor.empty() : tensor<1024x1024xbf16>
  %w = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%scale : tensor<1024xbf16>) outs(%scaled : tensor<1024x1024xbf16>) {
  ^bb0(%a: bf16, %out: bf16):
    linalg.yield %a : bf16
  } -> tensor<1024x1024xbf16>
  %1 = linalg.matmul ins(%x, %w : tensor<64x1024xbf16>, tensor<1024x1024xbf16>) outs(%init : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  return %sum, %1 : tensor<1024xf32>, tensor<64x1024xf32>
}

// Past the ridge no load is waited for: quiet.
func.func @large(%x: tensor<4096x4096xbf16>, %w0: tensor<4096x4096xbf16>, %w1: tensor<4096x4096xbf16>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4096x4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %0 = linalg.matmul ins(%x, %w0 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) outs(%init : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %1 = linalg.matmul ins(%x, %w1 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) outs(%init : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %0, %1 : tensor<4096x4096xf32>, tensor<4096x4096xf32>
}
