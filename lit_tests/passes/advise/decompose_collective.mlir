// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --xpu-devices=8 | FileCheck %s

// Parts of the gathered weight are used while others come.
// CHECK: all_gather of 33554432 B bf16 and {{.*}}; both in {{[248]}} parts, the links busy with one while another is computed (leaves {{.*}} exposed){{.*}} instead of the whole all_gather before the product{{.*}}(explain decompose_collective:
func.func @columns(%x: tensor<4096x4096xbf16>, %w: tensor<512x4096xbf16>) -> (tensor<4096x4096xf32>) {
  %0 = "stablehlo.all_gather"(%w) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<512x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [1] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xf32>
  return %1 : tensor<4096x4096xf32>
}

// The same where the parts are of the reduction.
// CHECK: all_gather of 33554432 B bf16 and {{.*}}; both in {{[248]}} parts{{.*}} instead of the whole all_gather before the product{{.*}}(explain decompose_collective:
func.func @rows(%x: tensor<4096x4096xbf16>, %w: tensor<512x4096xbf16>) -> (tensor<4096x4096xf32>) {
  %0 = "stablehlo.all_gather"(%w) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<512x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xf32>
  return %1 : tensor<4096x4096xf32>
}

// Parts of the product are reduced while others are computed.
// CHECK: reduce_scatter of 33554432 B bf16 and {{.*}}; both in {{[248]}} parts{{.*}} instead of the whole reduce_scatter behind the product{{.*}}(explain decompose_collective:
func.func @scattered(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> (tensor<512x4096xbf16>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = "stablehlo.reduce_scatter"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
  ^bb0(%a1: tensor<bf16>, %b1: tensor<bf16>):
    %s1 = stablehlo.add %a1, %b1 : tensor<bf16>
    stablehlo.return %s1 : tensor<bf16>
  }) : (tensor<4096x4096xbf16>) -> tensor<512x4096xbf16>
  return %1 : tensor<512x4096xbf16>
}

// A part would be all latency.
// CHECK: small on tpu_v6e takes
// CHECK-NOT: (explain decompose_collective:
func.func @small(%x: tensor<64x64xbf16>, %w: tensor<8x64xbf16>) -> (tensor<64x64xf32>) {
  %0 = "stablehlo.all_gather"(%w) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<8x64xbf16>) -> tensor<64x64xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [1] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
