// RUN: xpu-shark simulate %s --xpu-target=tiny --xpu-effort=low --remarks-filter=xpu-shark.memory 2>&1 | FileCheck %s
// RUN: xpu-shark-opt %s --passes=xpu-find-repeats | FileCheck %s --check-prefix=IR

// The compiler keeps one of two equal ops, with the place of the first; the remark has both. The
// product of other operands is a launch of its own, of the same kernel.
// CHECK: model.py:10:3: remark: [xpu-shark.memory] matmul 16x8x32 f32 {{.*}}; 2 launches; at 10:3, 30:1, 22:7

// The module stays as it is.
// IR: stablehlo.dot %arg0, %arg1
// IR: stablehlo.dot %arg0, %arg1

func.func @main(%x: tensor<16x32xf32>, %y: tensor<32x8xf32>, %z: tensor<32x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  %0 = stablehlo.dot %x, %y : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32> loc("model.py":10:3)
  %1 = stablehlo.dot %x, %y : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32> loc("model.py":22:7)
  %2 = stablehlo.dot %x, %z : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32> loc("model.py":30:1)
  %3 = stablehlo.subtract %0, %2 : tensor<16x8xf32> loc("model.py":31:1)
  %4 = stablehlo.add %1, %2 : tensor<16x8xf32> loc("model.py":32:1)
  return %3, %4 : tensor<16x8xf32>, tensor<16x8xf32>
}
