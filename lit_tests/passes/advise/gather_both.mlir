// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --xpu-devices=8 | FileCheck %s

// All devices compute all of the product.
// CHECK: 2 all_gathers and {{.*}} on tpu_v6e takes {{.*}}; the 4096x16384xbf16 factor kept sharded, the result gathered{{.*}} instead of both factors gathered, all of the product on each of 8 devices{{.*}}(explain gather_both:
func.func @both(%x: tensor<512x16384xbf16>, %w: tensor<512x16384xbf16>) -> (tensor<4096x4096xbf16>) {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<512x16384xbf16>) -> tensor<4096x16384xbf16>
  %1 = "stablehlo.all_gather"(%w) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<512x16384xbf16>) -> tensor<4096x16384xbf16>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [1] : (tensor<4096x16384xbf16>, tensor<4096x16384xbf16>) -> tensor<4096x4096xbf16>
  return %2 : tensor<4096x4096xbf16>
}

// One factor is on every device anyway.
// CHECK: one on tpu_v6e takes
// CHECK-NOT: (explain gather_both:
func.func @one(%x: tensor<4096x16384xbf16>, %w: tensor<512x16384xbf16>) -> (tensor<4096x4096xbf16>) {
  %1 = "stablehlo.all_gather"(%w) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<512x16384xbf16>) -> tensor<4096x16384xbf16>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [1] x [1] : (tensor<4096x16384xbf16>, tensor<4096x16384xbf16>) -> tensor<4096x4096xbf16>
  return %2 : tensor<4096x4096xbf16>
}
