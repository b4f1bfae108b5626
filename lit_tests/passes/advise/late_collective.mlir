// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --xpu-devices=8 | FileCheck %s

// What is summed is ready behind the first product; three others stand between.
// CHECK: all_reduce of 2097152 B bf16 over 8 devices on tpu_v6e takes {{.*}}; start it after late_dispatch_0{{.*}}, wait for it before{{.*}} instead of a start behind {{.*}}, which it does not need{{.*}}(explain late_collective:
func.func @late(%x: tensor<1024x1024xbf16>, %y: tensor<1024x1024xbf16>, %w: tensor<1024x1024xbf16>) -> (tensor<1024x1024xbf16>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %4 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a4: tensor<bf16>, %b4: tensor<bf16>):
    %s4 = stablehlo.add %a4, %b4 : tensor<bf16>
    stablehlo.return %s4 : tensor<bf16>
  }) : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %5 = stablehlo.add %3, %4 : tensor<1024x1024xbf16>
  return %5 : tensor<1024x1024xbf16>
}

// It needs all that stands before it.
// CHECK: chain on tpu_v6e takes
// CHECK-NOT: (explain late_collective:
func.func @chain(%x: tensor<1024x1024xbf16>) -> (tensor<1024x1024xbf16>) {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a1: tensor<bf16>, %b1: tensor<bf16>):
    %s1 = stablehlo.add %a1, %b1 : tensor<bf16>
    stablehlo.return %s1 : tensor<bf16>
  }) : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  return %1 : tensor<1024x1024xbf16>
}
