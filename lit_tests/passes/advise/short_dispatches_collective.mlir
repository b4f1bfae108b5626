// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e | FileCheck %s

// One dispatch waits for the collective and the other one could hide it: whether one launch for
// both is faster is left open.
// CHECK: one dispatch for main_dispatch_1_{{.*}} and main_dispatch_2_{{.*}}: indeterminate, {{.*}}: it depends on the overlap with collectives
// CHECK: 1 suggestion and 1 that depend on uncertain constants
func.func @main(%x: tensor<256xf32>, %y: tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %0 = stablehlo.exponential %x : tensor<256xf32>
  %1 = "stablehlo.all_reduce"(%0) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<256xf32>) -> tensor<256xf32>
  %2 = stablehlo.tanh %y : tensor<256xf32>
  %3 = stablehlo.negate %1 : tensor<256xf32>
  return %3, %2 : tensor<256xf32>, tensor<256xf32>
}
