// RUN: xpu-shark simulate %s --xpu-target=tiny | FileCheck %s --implicit-check-not="instead of the pinned tile"

#how = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
#odd = #iree_cpu.lowering_config<distribution = [60, 60, 0], cache_parallel = [5, 5, 0], vector_common_parallel = [5, 5, 0], vector_reduction = [0, 0, 1]>
#large = #iree_cpu.lowering_config<distribution = [96, 96, 0], cache_parallel = [96, 96, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 1]>
#good = #iree_cpu.lowering_config<distribution = [512, 16, 0], cache_parallel = [16, 16, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 1]>

// Tiles of 5 x 5 on a 4 x 4 array are 8 x 8 with padding, and every row of them loads B again.
// CHECK: matmul 60x60x64 f32 on tiny {{.*}} instead of the pinned tile [5, 5, 64]{{.*}} of the multiply-adds on padding{{.*}} operand loaded
func.func @odd(%a: tensor<60x64xf32>, %b: tensor<64x60xf32>) -> tensor<60x60xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<60x60xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<60x60xf32>) -> tensor<60x60xf32>
  %0 = linalg.matmul {compilation_info = #iree_codegen.compilation_info<lowering_config = #odd, translation_info = #how>}
    ins(%a, %b : tensor<60x64xf32>, tensor<64x60xf32>) outs(%init : tensor<60x60xf32>) -> tensor<60x60xf32>
  return %0 : tensor<60x60xf32>
}

// A tile that does not fit was halved until it did: that is said.
// CHECK: matmul 96x96x64 f32 on tiny {{.*}} instead of the pinned tile [{{.*}} cut down from one that sram does not hold
func.func @large(%a: tensor<96x64xf32>, %b: tensor<64x96xf32>) -> tensor<96x96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<96x96xf32>) -> tensor<96x96xf32>
  %0 = linalg.matmul {compilation_info = #iree_codegen.compilation_info<lowering_config = #large, translation_info = #how>}
    ins(%a, %b : tensor<96x64xf32>, tensor<64x96xf32>) outs(%init : tensor<96x96xf32>) -> tensor<96x96xf32>
  return %0 : tensor<96x96xf32>
}

// One tile of columns and two buffers for the rows that pass: quiet.
func.func @good(%a: tensor<512x64xf32>, %b: tensor<64x16xf32>) -> tensor<512x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x16xf32>) -> tensor<512x16xf32>
  %0 = linalg.matmul {compilation_info = #iree_codegen.compilation_info<lowering_config = #good, translation_info = #how>}
    ins(%a, %b : tensor<512x64xf32>, tensor<64x16xf32>) outs(%init : tensor<512x16xf32>) -> tensor<512x16xf32>
  return %0 : tensor<512x16xf32>
}
