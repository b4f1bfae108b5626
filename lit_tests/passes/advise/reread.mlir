// RUN: xpu-shark simulate %s --xpu-target=tiny | FileCheck %s --implicit-check-not="operand loaded"

#how = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
#rows = #iree_cpu.lowering_config<distribution = [48, 512, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 1]>
#whole = #iree_cpu.lowering_config<distribution = [48, 256, 0], vector_common_parallel = [48, 16, 0], vector_reduction = [0, 0, 1]>

// Three tiles of 16 rows, each of which needs all of the weights: they come three times.
// CHECK: matmul 48x512x32 f32 on tiny {{.*}} keep it: tile [48, {{[0-9]+}}, 32] instead of the pinned tile [16, 16, 32] loops [0, 1], the 32x512xf32 operand loaded 3 times
func.func @three(%a: tensor<48x32xf32>, %b: tensor<32x512xf32>) -> tensor<48x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<48x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<48x512xf32>) -> tensor<48x512xf32>
  %0 = linalg.matmul {compilation_info = #iree_codegen.compilation_info<lowering_config = #rows, translation_info = #how>}
    ins(%a, %b : tensor<48x32xf32>, tensor<32x512xf32>) outs(%init : tensor<48x512xf32>) -> tensor<48x512xf32>
  return %0 : tensor<48x512xf32>
}

// All rows in one tile: every operand comes once. Quiet.
func.func @once(%a: tensor<48x32xf32>, %b: tensor<32x256xf32>) -> tensor<48x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<48x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<48x256xf32>) -> tensor<48x256xf32>
  %0 = linalg.matmul {compilation_info = #iree_codegen.compilation_info<lowering_config = #whole, translation_info = #how>}
    ins(%a, %b : tensor<48x32xf32>, tensor<32x256xf32>) outs(%init : tensor<48x256xf32>) -> tensor<48x256xf32>
  return %0 : tensor<48x256xf32>
}
