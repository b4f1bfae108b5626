// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=tpu_v6e --no-print 2>&1 | FileCheck %s --implicit-check-not="[xpu-shark.precision] matmul 4096x"

// f32 costs four times the matrix time of bf16 and twice the bytes; converting is cheaper.
// CHECK-DAG: [xpu-shark.precision] matmul 1024x1024x1024 f32 on tpu_v6e {{.*}} bf16 operands, accumulated in f32 instead of product of f32 operands
func.func @wide(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%init : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}

// bf16 already, the unit has no f8, and bytes are not the limit: quiet.
func.func @narrow(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xbf16>) -> tensor<4096x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4096x4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) outs(%init : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// One row: as long as the matrix has bytes, so half of them help though the unit multiplies bf16.
// CHECK-DAG: [xpu-shark.precision] matmul 1x8192x8192 bf16 on tpu_v6e {{.*}} f8E4M3FN operands, multiplied as bf16, accumulated in f32 instead of product of bf16 operands
func.func @row(%a: tensor<1x8192xbf16>, %b: tensor<8192x8192xbf16>) -> tensor<1x8192xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x8192xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8192xf32>) -> tensor<1x8192xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<1x8192xbf16>, tensor<8192x8192xbf16>) outs(%init : tensor<1x8192xf32>) -> tensor<1x8192xf32>
  return %0 : tensor<1x8192xf32>
}
