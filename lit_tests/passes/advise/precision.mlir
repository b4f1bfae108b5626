// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=tpu_v6e --no-print 2>&1 | FileCheck %s

// f32 costs four times the matrix time of bf16 and twice the bytes; converting is cheaper.
// CHECK: [xpu-shark.precision] matmul 1024x1024x1024 f32 on tpu_v6e {{.*}} bf16 operands, accumulated in f32 instead of product of f32 operands
func.func @wide(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%init : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}

// bf16 already, and the unit has no f8: quiet.
// CHECK-NOT: [xpu-shark.precision] matmul 1024x1024x512
func.func @narrow(%a: tensor<1024x512xbf16>, %b: tensor<512x1024xbf16>) -> tensor<1024x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<1024x512xbf16>, tensor<512x1024xbf16>) outs(%init : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
