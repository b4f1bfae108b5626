// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=tpu_v6e --no-print 2>&1 | FileCheck %s --implicit-check-not="lanes"

// Rows of 7 taps leave 121 of 128 lanes without work; the 96 channels would fill them.
// CHECK: [xpu-shark.tiling] {{.*}} 2x16x16x96x7x7 f32 on tpu_v6e {{.*}} the loop of 96 innermost instead of rows of 7 on 128 lanes
func.func @depthwise(%x: tensor<2x22x22x96xf32>, %w: tensor<7x7x96xf32>) -> tensor<2x16x16x96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x16x16x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x16x16x96xf32>) -> tensor<2x16x16x96xf32>
  %0 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%x, %w : tensor<2x22x22x96xf32>, tensor<7x7x96xf32>) outs(%init : tensor<2x16x16x96xf32>) -> tensor<2x16x16x96xf32>
  return %0 : tensor<2x16x16x96xf32>
}

// Whole rows of lanes: quiet.
func.func @full(%x: tensor<4096x1024xf32>) -> tensor<4096xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4096xf32>) -> tensor<4096xf32>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<4096x1024xf32>) outs(%init : tensor<4096xf32>) dimensions = [1]
  return %0 : tensor<4096xf32>
}
