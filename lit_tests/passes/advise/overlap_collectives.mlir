// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --xpu-devices=8 | FileCheck %s

// Each gradient can be reduced while the next one is computed.
// CHECK: 2 collectives (reduce_scatter) on tpu_v6e takes {{.*}}; asynchronous collectives, each started when its input is there (leaves {{.*}} exposed){{.*}} instead of one command after another{{.*}}(explain overlap_collectives:
func.func @gradients(%x: tensor<1024x1024xbf16>, %y: tensor<1024x1024xbf16>, %w: tensor<1024x1024xbf16>) -> (tensor<128x1024xbf16>, tensor<128x1024xbf16>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %5 = "stablehlo.reduce_scatter"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
  ^bb0(%a5: tensor<bf16>, %b5: tensor<bf16>):
    %s5 = stablehlo.add %a5, %b5 : tensor<bf16>
    stablehlo.return %s5 : tensor<bf16>
  }) : (tensor<1024x1024xbf16>) -> tensor<128x1024xbf16>
  %6 = "stablehlo.reduce_scatter"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
  ^bb0(%a6: tensor<bf16>, %b6: tensor<bf16>):
    %s6 = stablehlo.add %a6, %b6 : tensor<bf16>
    stablehlo.return %s6 : tensor<bf16>
  }) : (tensor<1024x1024xbf16>) -> tensor<128x1024xbf16>
  return %5, %6 : tensor<128x1024xbf16>, tensor<128x1024xbf16>
}

// Everything waits for what stands before it.
// CHECK: chain on tpu_v6e takes
// CHECK-NOT: (explain overlap_collectives:
func.func @chain(%x: tensor<1024x1024xbf16>) -> (tensor<1024x1024xbf16>) {
  %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a0: tensor<bf16>, %b0: tensor<bf16>):
    %s0 = stablehlo.add %a0, %b0 : tensor<bf16>
    stablehlo.return %s0 : tensor<bf16>
  }) : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a2: tensor<bf16>, %b2: tensor<bf16>):
    %s2 = stablehlo.add %a2, %b2 : tensor<bf16>
    stablehlo.return %s2 : tensor<bf16>
  }) : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  return %2 : tensor<1024x1024xbf16>
}
