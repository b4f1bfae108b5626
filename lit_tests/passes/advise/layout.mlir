// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=mi300x --no-print 2>&1 | FileCheck %s --implicit-check-not="strided access"

// A workgroup adds up a few columns; each of their elements is in a burst of 64 bytes of its own.
// CHECK: [xpu-shark.memory] reduce 4096x1024 f32 on mi300x {{.*}} the 4096x1024xf32 operand stored with its dimensions in the order [1, 0] instead of strided access to it
func.func @columns(%x: tensor<4096x1024xf32>) -> tensor<1024xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024xf32>) -> tensor<1024xf32>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<4096x1024xf32>) outs(%init : tensor<1024xf32>) dimensions = [0]
  return %0 : tensor<1024xf32>
}

// Rows are contiguous: quiet.
func.func @rows(%x: tensor<2048x1024xf32>) -> tensor<2048xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048xf32>) -> tensor<2048xf32>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<2048x1024xf32>) outs(%init : tensor<2048xf32>) dimensions = [1]
  return %0 : tensor<2048xf32>
}
