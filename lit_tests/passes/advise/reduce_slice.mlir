// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --xpu-devices=8 | FileCheck %s

// Each device updates its shard: the other seven eighths are sent for nothing.
// CHECK: all_reduce of 16777216 B f32 over 8 devices on tpu_v6e takes {{.*}}; reduce_scatter of 16777216 B{{.*}} instead of an all_reduce of which {{.*}} uses 2097152 B on each device{{.*}}(explain reduce_slice:
func.func @sliced(%g: tensor<4096x1024xf32>, %w: tensor<512x1024xf32>) -> (tensor<512x1024xf32>) {
  %0 = "stablehlo.all_reduce"(%g) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a0: tensor<f32>, %b0: tensor<f32>):
    %s0 = stablehlo.add %a0, %b0 : tensor<f32>
    stablehlo.return %s0 : tensor<f32>
  }) : (tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
  %c1 = stablehlo.partition_id : tensor<ui32>
  %c2 = stablehlo.convert %c1 : (tensor<ui32>) -> tensor<i32>
  %c3 = stablehlo.constant dense<512> : tensor<i32>
  %c4 = stablehlo.multiply %c2, %c3 : tensor<i32>
  %c5 = stablehlo.constant dense<0> : tensor<i32>
  %2 = stablehlo.dynamic_slice %0, %c4, %c5, sizes = [512, 1024] : (tensor<4096x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<512x1024xf32>
  %3 = stablehlo.subtract %w, %2 : tensor<512x1024xf32>
  return %3 : tensor<512x1024xf32>
}

// All of it is used.
// CHECK: whole on tpu_v6e takes
// CHECK-NOT: (explain reduce_slice:
func.func @whole(%g: tensor<4096x1024xf32>, %w: tensor<4096x1024xf32>) -> (tensor<4096x1024xf32>) {
  %0 = "stablehlo.all_reduce"(%g) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a0: tensor<f32>, %b0: tensor<f32>):
    %s0 = stablehlo.add %a0, %b0 : tensor<f32>
    stablehlo.return %s0 : tensor<f32>
  }) : (tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
  %1 = stablehlo.subtract %w, %0 : tensor<4096x1024xf32>
  return %1 : tensor<4096x1024xf32>
}
