// Tile sizes of the user's own: 60 rows are 7 tiles of 8 and one of 4, 40 columns 2 of 16 and one of 8.
#sizes = #iree_cpu.lowering_config<distribution = [60, 32, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 1]>
#how = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
func.func @main(%a: tensor<60x24xf32>, %b: tensor<24x40xf32>, %c: tensor<60x40xf32>) -> tensor<60x40xf32> {
  %0 = linalg.matmul {compilation_info = #iree_codegen.compilation_info<lowering_config = #sizes, translation_info = #how>}
    ins(%a, %b : tensor<60x24xf32>, tensor<24x40xf32>) outs(%c : tensor<60x40xf32>) -> tensor<60x40xf32>
  return %0 : tensor<60x40xf32>
}
