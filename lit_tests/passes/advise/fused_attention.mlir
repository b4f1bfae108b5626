// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e | FileCheck %s

// Heads of 64 are no whole vector register: no fused kernel takes them, and 16 x 1024 x 1024 scores pass through memory.
// What is advised is such a kernel, not another tile of the three steps.
// CHECK-LABEL: narrow on tpu_v6e
// CHECK-NOT: explain {{spill|tiling|reread}}
// CHECK: one fused attention kernel in blocks of [{{.*}}] instead of product, softmax and product one after another, the target compiler's tile [8, 1024, 1024, 64, 64], the 16x1024x1024xf32 transient tensor stored and loaded again: {{[2-9]}}.
// CHECK-SAME: explain fused_attention:narrow.
// CHECK-NOT: explain {{spill|tiling|reread}}
// CHECK: narrow on tpu_v6e: 1 suggestion and 0 that depend on uncertain constants

// Heads of 128 have one.
// CHECK-LABEL: wide on tpu_v6e
// CHECK-NOT: explain fused_attention

func.func @narrow(%q: tensor<16x1024x64xbf16>, %k: tensor<16x1024x64xbf16>, %v: tensor<16x1024x64xbf16>) -> tensor<16x1024x64xbf16> {
  %s = arith.constant 0.125 : bf16
  %e = tensor.empty() : tensor<16x1024x64xbf16>
  %0 = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, n, k, l) -> (b, m, k)>, affine_map<(b, m, n, k, l) -> (b, l, k)>, affine_map<(b, m, n, k, l) -> (b, l, n)>, affine_map<(b, m, n, k, l) -> ()>, affine_map<(b, m, n, k, l) -> (b, m, n)>]}>
    ins(%q, %k, %v, %s : tensor<16x1024x64xbf16>, tensor<16x1024x64xbf16>, tensor<16x1024x64xbf16>, bf16) outs(%e : tensor<16x1024x64xbf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x1024x64xbf16>
  return %0 : tensor<16x1024x64xbf16>
}

func.func @wide(%q: tensor<16x1024x128xbf16>, %k: tensor<16x1024x128xbf16>, %v: tensor<16x1024x128xbf16>) -> tensor<16x1024x128xbf16> {
  %s = arith.constant 0.088 : bf16
  %e = tensor.empty() : tensor<16x1024x128xbf16>
  %0 = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, n, k, l) -> (b, m, k)>, affine_map<(b, m, n, k, l) -> (b, l, k)>, affine_map<(b, m, n, k, l) -> (b, l, n)>, affine_map<(b, m, n, k, l) -> ()>, affine_map<(b, m, n, k, l) -> (b, m, n)>]}>
    ins(%q, %k, %v, %s : tensor<16x1024x128xbf16>, tensor<16x1024x128xbf16>, tensor<16x1024x128xbf16>, bf16) outs(%e : tensor<16x1024x128xbf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x1024x128xbf16>
  return %0 : tensor<16x1024x128xbf16>
}
