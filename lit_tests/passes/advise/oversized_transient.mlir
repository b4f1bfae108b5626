// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --iree-opt-level=O2 | FileCheck %s --implicit-check-not="has room"

// Scores of 2 GiB go out to memory for their softmax, 1024 rows of them fit beside the core.
// CHECK: one dispatch of both, 1x1024x4096 of it at a time instead of 32x4096x4096xf32 between scores_dispatch_0_{{[a-z0-9_]*}} and scores_dispatch_1_{{[a-z0-9_]*}}, 2147483648 B, for which no level but hbm has room: 2.
func.func @scores(%q: tensor<32x4096x128xbf16>, %k: tensor<32x128x4096xbf16>) -> tensor<32x4096x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x4096x4096xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<32x4096x4096xf32>) -> tensor<32x4096x4096xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<32x4096x128xbf16>, tensor<32x128x4096xbf16>) outs(%i : tensor<32x4096x4096xf32>) -> tensor<32x4096x4096xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<32x4096x4096xf32>) outs(%e : tensor<32x4096x4096xf32>) -> tensor<32x4096x4096xf32>
  return %p : tensor<32x4096x4096xf32>
}

// Scores that stay beside the core from one dispatch to the next: quiet.
func.func @small(%q: tensor<8x512x128xbf16>, %k: tensor<8x128x512xbf16>) -> tensor<8x512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x512x512xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x512x512xf32>) -> tensor<8x512x512xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<8x512x128xbf16>, tensor<8x128x512xbf16>) outs(%i : tensor<8x512x512xf32>) -> tensor<8x512x512xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<8x512x512xf32>) outs(%e : tensor<8x512x512xf32>) -> tensor<8x512x512xf32>
  return %p : tensor<8x512x512xf32>
}

// A feed-forward layer past the ridge: its 256 MiB go out and nothing waits for them. Quiet.
func.func @wide(%x: tensor<16384x4096xbf16>, %w0: tensor<4096x8192xbf16>, %w1: tensor<8192x4096xbf16>) -> tensor<16384x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16384x8192xf32>
  %eb = tensor.empty() : tensor<16384x8192xbf16>
  %o = tensor.empty() : tensor<16384x4096xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<16384x8192xf32>) -> tensor<16384x8192xf32>
  %h = linalg.matmul ins(%x, %w0 : tensor<16384x4096xbf16>, tensor<4096x8192xbf16>) outs(%i : tensor<16384x8192xf32>) -> tensor<16384x8192xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%h : tensor<16384x8192xf32>) outs(%eb : tensor<16384x8192xbf16>) {
  ^bb0(%a: f32, %out: bf16):
    %m = arith.maximumf %a, %zero : f32
    %c = arith.truncf %m : f32 to bf16
    linalg.yield %c : bf16
  } -> tensor<16384x8192xbf16>
  %j = linalg.fill ins(%zero : f32) outs(%o : tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
  %r = linalg.matmul ins(%g, %w1 : tensor<16384x8192xbf16>, tensor<8192x4096xbf16>) outs(%j : tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
  return %r : tensor<16384x4096xf32>
}
