// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=tpu_v6e --no-print 2>&1 | FileCheck %s --implicit-check-not="picked from"

// Rows of 16 bytes take a burst of 64 each.
// CHECK: [xpu-shark.memory] gather 65536x4 f32 on tpu_v6e {{.*}} pick runs of whole bursts{{.*}} instead of 65536 runs of 16 B picked from the 100000x4xf32 operand in bursts of 64 B
func.func @short(%table: tensor<100000x4xf32>, %ids: tensor<65536xi32>) -> tensor<65536x4xf32> {
  %empty = tensor.empty() : tensor<65536x4xf32>
  %0 = iree_linalg_ext.gather dimension_map = [0] ins(%table, %ids : tensor<100000x4xf32>, tensor<65536xi32>) outs(%empty : tensor<65536x4xf32>) -> tensor<65536x4xf32>
  return %0 : tensor<65536x4xf32>
}

// Rows of a kilobyte are whole bursts: quiet.
func.func @long(%table: tensor<10000x256xf32>, %ids: tensor<4096xi32>) -> tensor<4096x256xf32> {
  %empty = tensor.empty() : tensor<4096x256xf32>
  %0 = iree_linalg_ext.gather dimension_map = [0] ins(%table, %ids : tensor<10000x256xf32>, tensor<4096xi32>) outs(%empty : tensor<4096x256xf32>) -> tensor<4096x256xf32>
  return %0 : tensor<4096x256xf32>
}
