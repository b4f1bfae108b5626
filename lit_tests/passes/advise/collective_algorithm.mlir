// RUN: xpu-shark simulate %s --xpu-target=%S/Inputs/one_way_ring.toml --xpu-devices=16 | FileCheck %s
// RUN: xpu-shark simulate %s --xpu-target=%S/Inputs/one_way_ring.toml --xpu-devices=16 --xpu-tiling=best | FileCheck %s --check-prefix=BEST

// A ring in one direction uses one of four links: all axes of the torus at once take them all.
// CHECK: all_gather of 33554432 B f32 over 16 devices (ring{{[^b]*}}) on one_way_ring takes
// CHECK: all_gather of 33554432 B f32 over 16 devices on one_way_ring takes {{.*}}; torus all axes{{.*}}{{.*}} instead of ring{{.*}}(explain collective_algorithm:
// Where any algorithm may be taken it is the one in use.
// BEST: all_gather of 33554432 B f32 over 16 devices (torus all axes
// BEST-NOT: (explain collective_algorithm
func.func @gather(%x: tensor<512x1024xf32>) -> (tensor<8192x1024xf32>) {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]]> : tensor<1x16xi64>, use_global_device_ids}> : (tensor<512x1024xf32>) -> tensor<8192x1024xf32>
  return %0 : tensor<8192x1024xf32>
}

// The library is free to reduce as it likes.
// CHECK: reduce on one_way_ring takes
// CHECK-NOT: (explain collective_algorithm:
func.func @reduce(%x: tensor<512x1024xf32>) -> (tensor<512x1024xf32>) {
  %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]]> : tensor<1x16xi64>, use_global_device_ids}> ({
  ^bb0(%a0: tensor<f32>, %b0: tensor<f32>):
    %s0 = stablehlo.add %a0, %b0 : tensor<f32>
    stablehlo.return %s0 : tensor<f32>
  }) : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
  return %0 : tensor<512x1024xf32>
}
