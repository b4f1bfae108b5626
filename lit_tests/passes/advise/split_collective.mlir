// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --xpu-devices=8 | FileCheck %s

// A bucket of four gradients waits for the last one.
// CHECK: all_reduce of 67108864 B f32 over 8 devices on tpu_v6e takes {{.*}}; 4 of them, each started when its part is there{{.*}} instead of one for what 4 launches wrote{{.*}}(explain split_collective:
func.func @bucket(%x0: tensor<8192x2048xbf16>, %x1: tensor<8192x2048xbf16>, %x2: tensor<8192x2048xbf16>, %x3: tensor<8192x2048xbf16>, %y: tensor<8192x2048xbf16>) -> (tensor<8192x2048xf32>) {
  %0 = stablehlo.dot_general %x0, %y, contracting_dims = [0] x [0] : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<2048x2048xf32>
  %1 = stablehlo.dot_general %x1, %y, contracting_dims = [0] x [0] : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<2048x2048xf32>
  %2 = stablehlo.dot_general %x2, %y, contracting_dims = [0] x [0] : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<2048x2048xf32>
  %3 = stablehlo.dot_general %x3, %y, contracting_dims = [0] x [0] : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<2048x2048xf32>
  %8 = stablehlo.concatenate %0, %1, %2, %3, dim = 0 : (tensor<2048x2048xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<8192x2048xf32>
  %9 = "stablehlo.all_reduce"(%8) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a9: tensor<f32>, %b9: tensor<f32>):
    %s9 = stablehlo.add %a9, %b9 : tensor<f32>
    stablehlo.return %s9 : tensor<f32>
  }) : (tensor<8192x2048xf32>) -> tensor<8192x2048xf32>
  return %9 : tensor<8192x2048xf32>
}

// One launch computes all of it.
// CHECK: one on tpu_v6e takes
// CHECK-NOT: (explain split_collective:
func.func @one(%x0: tensor<8192x2048xbf16>, %y: tensor<8192x2048xbf16>) -> (tensor<2048x2048xf32>) {
  %0 = stablehlo.dot_general %x0, %y, contracting_dims = [0] x [0] : (tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<2048x2048xf32>
  %9 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a9: tensor<f32>, %b9: tensor<f32>):
    %s9 = stablehlo.add %a9, %b9 : tensor<f32>
    stablehlo.return %s9 : tensor<f32>
  }) : (tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %9 : tensor<2048x2048xf32>
}
