// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --xpu-effort=high | FileCheck %s
// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --xpu-effort=high --iree-dispatch-creation-enable-fuse-horizontal-contractions | FileCheck %s --check-prefix=DONE

// Query, key and value of the same tokens: the flag makes one kernel, which loads the tokens once.
// CHECK: matmul 64x1024x1024 bf16 on tpu_v6e takes {{.*}}; --iree-dispatch-creation-enable-fuse-horizontal-contractions makes 1 of them (qkv as a whole 1.{{[0-9]+}}x) instead of 3 dispatches of qkv_dispatch_0_matmul_64x1024x1024_bf16xbf16xf32: 1.4
// Where IREE has done it there is nothing left to say.
// DONE-NOT: makes {{[0-9]+}} of them
func.func @qkv(%x: tensor<64x1024xbf16>, %wq: tensor<1024x1024xbf16>, %wk: tensor<1024x1024xbf16>, %wv: tensor<1024x1024xbf16>) -> (tensor<64x1024xf32>, tensor<64x1024xf32>, tensor<64x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %q = linalg.matmul ins(%x, %wq : tensor<64x1024xbf16>, tensor<1024x1024xbf16>) outs(%init : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %k = linalg.matmul ins(%x, %wk : tensor<64x1024xbf16>, tensor<1024x1024xbf16>) outs(%init : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %v = linalg.matmul ins(%x, %wv : tensor<64x1024xbf16>, tensor<1024x1024xbf16>) outs(%init : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  return %q, %k, %v : tensor<64x1024xf32>, tensor<64x1024xf32>, tensor<64x1024xf32>
}

// Past the ridge of the memory no load is waited for: quiet.
// CHECK-NOT: dispatches of large_dispatch
func.func @large(%x: tensor<4096x4096xbf16>, %w0: tensor<4096x4096xbf16>, %w1: tensor<4096x4096xbf16>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4096x4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %0 = linalg.matmul ins(%x, %w0 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) outs(%init : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %1 = linalg.matmul ins(%x, %w1 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) outs(%init : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %0, %1 : tensor<4096x4096xf32>, tensor<4096x4096xf32>
}

// Products that have nothing in common stay apart: quiet.
// CHECK-NOT: dispatches of apart_dispatch
func.func @apart(%x: tensor<64x512xbf16>, %y: tensor<64x512xbf16>, %w0: tensor<512x512xbf16>, %w1: tensor<512x512xbf16>) -> (tensor<64x512xf32>, tensor<64x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x512xf32>) -> tensor<64x512xf32>
  %0 = linalg.matmul ins(%x, %w0 : tensor<64x512xbf16>, tensor<512x512xbf16>) outs(%init : tensor<64x512xf32>) -> tensor<64x512xf32>
  %1 = linalg.matmul ins(%y, %w1 : tensor<64x512xbf16>, tensor<512x512xbf16>) outs(%init : tensor<64x512xf32>) -> tensor<64x512xf32>
  return %0, %1 : tensor<64x512xf32>, tensor<64x512xf32>
}
