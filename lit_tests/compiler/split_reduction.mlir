// RUN: xpu-shark simulate %s --xpu-target=mi300x --iree-dispatch-creation-enable-split-reduction | FileCheck %s --implicit-check-not="split the reduction" --implicit-check-not="one launch for it"
// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --iree-dispatch-creation-enable-split-reduction | FileCheck %s --check-prefix=TPU --implicit-check-not="split the reduction"
// RUN: xpu-shark simulate %s --xpu-target=mi300x | FileCheck %s --check-prefix=WHOLE

// What IREE splits runs in parts beside each other: at 5.3 TB/s the 16 MB take 3 us, at the rate of
// one core 149 us. The parts are not advised to be split once more, nor to be added up by the launch
// that makes them.
// CHECK: takes [[#]].[[#]] us {{.*}} in 2 dispatches
// CHECK-NEXT: total
// CHECK-NEXT: {{ [3-9](\.[0-9]+)? us +[3-9](\.[0-9]+)? us .*}}sumall_dispatch_0_reduction_1250_f32
// TPU: takes 1[[#]].[[#]] us {{.*}} in 2 dispatches
// WHOLE: split the reduction of 4000000 into
func.func @sumall(%a: tensor<4000000xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4000000xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
