// RUN: xpu-shark simulate %s --xpu-target=h100 --xpu-devices=8 --xpu-effort=low | FileCheck %s
// RUN: xpu-shark simulate %s --xpu-target=h100 --xpu-devices=2 --xpu-effort=low | FileCheck %s --check-prefix=FEW

// Four of eight devices gather, though no module attribute says how many devices there are.
// CHECK: all_gather of 8192 B f32 over 4 devices
// All replicas' partitions join in where ids are those of replicas.
// CHECK: all_gather of 16384 B f32 over 8 devices
// FEW: all_gather of 8192 B f32 over 4 devices: not simulated, group [0, 1, 2, 3] names device 2, but the devices are 0 to 1: give --xpu-devices=4 or more
func.func @some(%x: tensor<512xf32>) -> tensor<2048xf32> {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<512xf32>) -> tensor<2048xf32>
  return %0 : tensor<2048xf32>
}

func.func @all(%x: tensor<512xf32>) -> tensor<4096xf32> {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<512xf32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}
