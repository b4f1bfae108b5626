// RUN: xpu-shark simulate %s --xpu-target=tiny | FileCheck %s --implicit-check-not="goes out to memory"

// Sums, their sum along a row, and the difference of both: the first sums pass between the nests.
#points = affine_map<(i, j, k) -> (i, j, k)>
#pairs = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#how = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
#eight = #iree_cpu.lowering_config<distribution = [64, 0], cache_parallel = [8, 0], cache_reduction = [0, 64], vector_common_parallel = [1, 0], vector_reduction = [0, 4]>
#one = #iree_cpu.lowering_config<distribution = [64, 0], cache_parallel = [1, 0], cache_reduction = [0, 64], vector_common_parallel = [1, 0], vector_reduction = [0, 4]>

// Eight rows of 4 KiB of sums each are twice what the scratchpad holds.
// CHECK: reduction 64x1024x2 f32 on tiny {{.*}} tile [2, 64, 2] instead of the pinned tile [8, 64, 2], the 64x1024xf32 transient tensor does not fit sram (16384 B) and goes out to memory
func.func @eight(%x: tensor<64x1024x2xf32>) -> tensor<64x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %r = flow.dispatch.region -> (tensor<64x1024xf32>) {
    %wide = tensor.empty() : tensor<64x1024xf32>
    %column = tensor.empty() : tensor<64xf32>
    %none = linalg.fill ins(%zero : f32) outs(%wide : tensor<64x1024xf32>) -> tensor<64x1024xf32>
    %init = linalg.fill ins(%zero : f32) outs(%column : tensor<64xf32>) -> tensor<64xf32>
    %0 = linalg.generic {indexing_maps = [#points, #pairs], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<64x1024x2xf32>) outs(%none : tensor<64x1024xf32>) {
    ^bb0(%a: f32, %out: f32):
      %3 = arith.addf %a, %out : f32
      linalg.yield %3 : f32
    } -> tensor<64x1024xf32>
    %1 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<64x1024xf32>) outs(%init : tensor<64xf32>) attrs = {compilation_info = #iree_codegen.compilation_info<lowering_config = #eight, translation_info = #how>} {
    ^bb0(%a: f32, %out: f32):
      %3 = arith.addf %a, %out : f32
      linalg.yield %3 : f32
    } -> tensor<64xf32>
    %2 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1 : tensor<64x1024xf32>, tensor<64xf32>) outs(%wide : tensor<64x1024xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %3 = arith.subf %a, %b : f32
      linalg.yield %3 : f32
    } -> tensor<64x1024xf32>
    flow.return %2 : tensor<64x1024xf32>
  }
  return %r : tensor<64x1024xf32>
}

// One row of them fits: quiet.
func.func @one(%x: tensor<64x1024x2xf32>) -> tensor<64x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %r = flow.dispatch.region -> (tensor<64x1024xf32>) {
    %wide = tensor.empty() : tensor<64x1024xf32>
    %column = tensor.empty() : tensor<64xf32>
    %none = linalg.fill ins(%zero : f32) outs(%wide : tensor<64x1024xf32>) -> tensor<64x1024xf32>
    %init = linalg.fill ins(%zero : f32) outs(%column : tensor<64xf32>) -> tensor<64xf32>
    %0 = linalg.generic {indexing_maps = [#points, #pairs], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<64x1024x2xf32>) outs(%none : tensor<64x1024xf32>) {
    ^bb0(%a: f32, %out: f32):
      %3 = arith.addf %a, %out : f32
      linalg.yield %3 : f32
    } -> tensor<64x1024xf32>
    %1 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<64x1024xf32>) outs(%init : tensor<64xf32>) attrs = {compilation_info = #iree_codegen.compilation_info<lowering_config = #one, translation_info = #how>} {
    ^bb0(%a: f32, %out: f32):
      %3 = arith.addf %a, %out : f32
      linalg.yield %3 : f32
    } -> tensor<64xf32>
    %2 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1 : tensor<64x1024xf32>, tensor<64xf32>) outs(%wide : tensor<64x1024xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %3 = arith.subf %a, %b : f32
      linalg.yield %3 : f32
    } -> tensor<64x1024xf32>
    flow.return %2 : tensor<64x1024xf32>
  }
  return %r : tensor<64x1024xf32>
}
