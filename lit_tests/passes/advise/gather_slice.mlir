// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --xpu-devices=8 | FileCheck %s

// Each device uses its own eighth of what it gathers.
// CHECK: all_gather of 16777216 B f32 over 8 devices on tpu_v6e takes {{.*}}; the part that is used: no collective if it is the device's own, else a send_recv of 2097152 B{{.*}} instead of a gather of which {{.*}} uses 2097152 B, 12 %{{.*}}(explain gather_slice:
func.func @sliced(%x: tensor<512x1024xf32>) -> (tensor<512x1024xf32>) {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<512x1024xf32>) -> tensor<4096x1024xf32>
  %c1 = stablehlo.partition_id : tensor<ui32>
  %c2 = stablehlo.convert %c1 : (tensor<ui32>) -> tensor<i32>
  %c3 = stablehlo.constant dense<512> : tensor<i32>
  %c4 = stablehlo.multiply %c2, %c3 : tensor<i32>
  %c5 = stablehlo.constant dense<0> : tensor<i32>
  %2 = stablehlo.dynamic_slice %0, %c4, %c5, sizes = [512, 1024] : (tensor<4096x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<512x1024xf32>
  %3 = stablehlo.add %2, %2 : tensor<512x1024xf32>
  return %3 : tensor<512x1024xf32>
}

// All of it is used.
// CHECK: whole on tpu_v6e takes
// CHECK-NOT: (explain gather_slice:
func.func @whole(%x: tensor<512x1024xf32>) -> (tensor<4096x1024xf32>) {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<512x1024xf32>) -> tensor<4096x1024xf32>
  %1 = stablehlo.add %0, %0 : tensor<4096x1024xf32>
  return %1 : tensor<4096x1024xf32>
}

// Someone else may use the rest: it is a result too.
// CHECK: seen on tpu_v6e takes
// CHECK-NOT: (explain gather_slice:
func.func @seen(%x: tensor<512x1024xf32>) -> (tensor<512x1024xf32>, tensor<4096x1024xf32>) {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<512x1024xf32>) -> tensor<4096x1024xf32>
  %c1 = stablehlo.partition_id : tensor<ui32>
  %c2 = stablehlo.convert %c1 : (tensor<ui32>) -> tensor<i32>
  %c3 = stablehlo.constant dense<512> : tensor<i32>
  %c4 = stablehlo.multiply %c2, %c3 : tensor<i32>
  %c5 = stablehlo.constant dense<0> : tensor<i32>
  %2 = stablehlo.dynamic_slice %0, %c4, %c5, sizes = [512, 1024] : (tensor<4096x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<512x1024xf32>
  %3 = stablehlo.add %2, %2 : tensor<512x1024xf32>
  return %3, %0 : tensor<512x1024xf32>, tensor<4096x1024xf32>
}
