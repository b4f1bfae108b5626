// RUN: xpu-shark simulate %s --xpu-target=mi300x --xpu-effort=low | FileCheck %s

// The attribute that a remark of split_reduction gives: IREE splits this product into 256 parts and
// leaves the other one alone.
// CHECK: in 3 dispatches
// CHECK-DAG: {{ [0-9.]+ us .*}}matmul_4096x4096x4096_f32
// CHECK-DAG: {{ [0-9.]+ us .*}}matmul_16x16x256_f32
// CHECK-DAG: {{ [0-9.]+ us .*}}reduce_16x16x256_f32
func.func @both(%a: tensor<16x65536xf32>, %b: tensor<65536x16xf32>, %x: tensor<4096x4096xf32>, %y: tensor<4096x4096xf32>)
    -> (tensor<16x16xf32>, tensor<4096x4096xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x16xf32>) -> tensor<16x16xf32>
  %0 = linalg.matmul {iree_linalg_ext.split_reduction = [256 : index]}
    ins(%a, %b : tensor<16x65536xf32>, tensor<65536x16xf32>) outs(%init : tensor<16x16xf32>) -> tensor<16x16xf32>
  %empty1 = tensor.empty() : tensor<4096x4096xf32>
  %init1 = linalg.fill ins(%zero : f32) outs(%empty1 : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %1 = linalg.matmul ins(%x, %y : tensor<4096x4096xf32>, tensor<4096x4096xf32>) outs(%init1 : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %0, %1 : tensor<16x16xf32>, tensor<4096x4096xf32>
}
