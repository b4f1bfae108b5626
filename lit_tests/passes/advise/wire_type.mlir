// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --xpu-devices=8 | FileCheck %s

// Limited by its bytes: half of them are faster by more than converting costs.
// CHECK: all_reduce of 67108864 B f32 over 8 devices on tpu_v6e takes {{.*}}; bf16 on the wire, 33554432 B{{.*}} instead of f32 on the wire{{.*}}(explain wire_type:
func.func @grads(%g: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>) {
  %0 = "stablehlo.all_reduce"(%g) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a0: tensor<f32>, %b0: tensor<f32>):
    %s0 = stablehlo.add %a0, %b0 : tensor<f32>
    stablehlo.return %s0 : tensor<f32>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %1 = stablehlo.add %0, %0 : tensor<4096x4096xf32>
  return %1 : tensor<4096x4096xf32>
}

// bf16 already.
// CHECK: narrow on tpu_v6e takes
// CHECK-NOT: (explain wire_type:
func.func @narrow(%g: tensor<4096x4096xbf16>) -> (tensor<4096x4096xbf16>) {
  %0 = "stablehlo.all_reduce"(%g) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a0: tensor<bf16>, %b0: tensor<bf16>):
    %s0 = stablehlo.add %a0, %b0 : tensor<bf16>
    stablehlo.return %s0 : tensor<bf16>
  }) : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = stablehlo.add %0, %0 : tensor<4096x4096xbf16>
  return %1 : tensor<4096x4096xbf16>
}

// All latency.
// CHECK: small on tpu_v6e takes
// CHECK-NOT: (explain wire_type:
func.func @small(%g: tensor<8x8xf32>) -> (tensor<8x8xf32>) {
  %0 = "stablehlo.all_reduce"(%g) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a0: tensor<f32>, %b0: tensor<f32>):
    %s0 = stablehlo.add %a0, %b0 : tensor<f32>
    stablehlo.return %s0 : tensor<f32>
  }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.add %0, %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
