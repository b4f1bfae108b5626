// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --xpu-devices=8 | FileCheck %s

// Four that nothing orders: one of their bytes pays the latency once.
// CHECK: 4 times all_reduce of 512 B f32 on tpu_v6e takes {{.*}}; one all_reduce of 2048 B{{.*}} instead of 4 that do not depend on each other, nearly all latency{{.*}}(explain combine_collectives:
func.func @many(%x0: tensor<8x16xf32>, %x1: tensor<8x16xf32>, %x2: tensor<8x16xf32>, %x3: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = "stablehlo.all_reduce"(%x0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a0: tensor<f32>, %b0: tensor<f32>):
    %s0 = stablehlo.add %a0, %b0 : tensor<f32>
    stablehlo.return %s0 : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = "stablehlo.all_reduce"(%x1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a1: tensor<f32>, %b1: tensor<f32>):
    %s1 = stablehlo.add %a1, %b1 : tensor<f32>
    stablehlo.return %s1 : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = "stablehlo.all_reduce"(%x2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a2: tensor<f32>, %b2: tensor<f32>):
    %s2 = stablehlo.add %a2, %b2 : tensor<f32>
    stablehlo.return %s2 : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %3 = "stablehlo.all_reduce"(%x3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a3: tensor<f32>, %b3: tensor<f32>):
    %s3 = stablehlo.add %a3, %b3 : tensor<f32>
    stablehlo.return %s3 : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0, %1, %2, %3 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}

// Two may be kept apart on purpose.
// CHECK: two on tpu_v6e takes
// CHECK-NOT: (explain combine_collectives:
func.func @two(%x0: tensor<8x16xf32>, %x1: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = "stablehlo.all_reduce"(%x0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a0: tensor<f32>, %b0: tensor<f32>):
    %s0 = stablehlo.add %a0, %b0 : tensor<f32>
    stablehlo.return %s0 : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = "stablehlo.all_reduce"(%x1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a1: tensor<f32>, %b1: tensor<f32>):
    %s1 = stablehlo.add %a1, %b1 : tensor<f32>
    stablehlo.return %s1 : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<8x16xf32>
}

// A chain cannot be joined.
// CHECK: chain on tpu_v6e takes
// CHECK-NOT: (explain combine_collectives:
func.func @chain(%x0: tensor<8x16xf32>) -> (tensor<8x16xf32>) {
  %0 = "stablehlo.all_reduce"(%x0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a0: tensor<f32>, %b0: tensor<f32>):
    %s0 = stablehlo.add %a0, %b0 : tensor<f32>
    stablehlo.return %s0 : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a1: tensor<f32>, %b1: tensor<f32>):
    %s1 = stablehlo.add %a1, %b1 : tensor<f32>
    stablehlo.return %s1 : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a2: tensor<f32>, %b2: tensor<f32>):
    %s2 = stablehlo.add %a2, %b2 : tensor<f32>
    stablehlo.return %s2 : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a3: tensor<f32>, %b3: tensor<f32>):
    %s3 = stablehlo.add %a3, %b3 : tensor<f32>
    stablehlo.return %s3 : tensor<f32>
  }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}

// Large ones are limited by their bytes.
// CHECK: large on tpu_v6e takes
// CHECK-NOT: (explain combine_collectives:
func.func @large(%x0: tensor<1024x4096xf32>, %x1: tensor<1024x4096xf32>, %x2: tensor<1024x4096xf32>, %x3: tensor<1024x4096xf32>) -> (tensor<1024x4096xf32>, tensor<1024x4096xf32>, tensor<1024x4096xf32>, tensor<1024x4096xf32>) {
  %0 = "stablehlo.all_reduce"(%x0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a0: tensor<f32>, %b0: tensor<f32>):
    %s0 = stablehlo.add %a0, %b0 : tensor<f32>
    stablehlo.return %s0 : tensor<f32>
  }) : (tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
  %1 = "stablehlo.all_reduce"(%x1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a1: tensor<f32>, %b1: tensor<f32>):
    %s1 = stablehlo.add %a1, %b1 : tensor<f32>
    stablehlo.return %s1 : tensor<f32>
  }) : (tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
  %2 = "stablehlo.all_reduce"(%x2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a2: tensor<f32>, %b2: tensor<f32>):
    %s2 = stablehlo.add %a2, %b2 : tensor<f32>
    stablehlo.return %s2 : tensor<f32>
  }) : (tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
  %3 = "stablehlo.all_reduce"(%x3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a3: tensor<f32>, %b3: tensor<f32>):
    %s3 = stablehlo.add %a3, %b3 : tensor<f32>
    stablehlo.return %s3 : tensor<f32>
  }) : (tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
  return %0, %1, %2, %3 : tensor<1024x4096xf32>, tensor<1024x4096xf32>, tensor<1024x4096xf32>, tensor<1024x4096xf32>
}
