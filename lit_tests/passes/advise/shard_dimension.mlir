// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e --xpu-devices=8 | FileCheck %s

// The operand is a fraction of the result.
// CHECK: {{.*}} and all_reduce of 67108864 B bf16 on tpu_v6e takes {{.*}}; sharded along its 4096 columns: gather 8388608 B of the operand, then the result{{.*}} instead of the weight sharded along the reduction over 8 devices{{.*}}(explain shard_dimension:
func.func @widen(%x: tensor<8192x64xbf16>, %v: tensor<64x64xbf16>, %w: tensor<64x4096xbf16>) -> (tensor<8192x4096xbf16>) {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<8192x64xbf16>, tensor<64x64xbf16>) -> tensor<8192x64xbf16>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8192x64xbf16>, tensor<64x4096xbf16>) -> tensor<8192x4096xbf16>
  %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a2: tensor<bf16>, %b2: tensor<bf16>):
    %s2 = stablehlo.add %a2, %b2 : tensor<bf16>
    stablehlo.return %s2 : tensor<bf16>
  }) : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  return %2 : tensor<8192x4096xbf16>
}

// The operand is the larger one.
// CHECK: narrow on tpu_v6e takes
// CHECK-NOT: (explain shard_dimension:
func.func @narrow(%x: tensor<8192x64xbf16>, %v: tensor<64x2048xbf16>, %w: tensor<2048x512xbf16>) -> (tensor<8192x512xbf16>) {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<8192x64xbf16>, tensor<64x2048xbf16>) -> tensor<8192x2048xbf16>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8192x2048xbf16>, tensor<2048x512xbf16>) -> tensor<8192x512xbf16>
  %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
  ^bb0(%a2: tensor<bf16>, %b2: tensor<bf16>):
    %s2 = stablehlo.add %a2, %b2 : tensor<bf16>
    stablehlo.return %s2 : tensor<bf16>
  }) : (tensor<8192x512xbf16>) -> tensor<8192x512xbf16>
  return %2 : tensor<8192x512xbf16>
}
