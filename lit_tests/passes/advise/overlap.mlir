// RUN: xpu-shark simulate %s --xpu-target=tiny | FileCheck %s --implicit-check-not="buffer:" --implicit-check-not="in flight"

#one = affine_map<(i) -> (i)>
#how = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
#large = #iree_cpu.lowering_config<distribution = [65536], cache_parallel = [2048], vector_common_parallel = [4]>
#small = #iree_cpu.lowering_config<distribution = [65536], cache_parallel = [1024], vector_common_parallel = [4]>

// 8 KiB in and 8 KiB out fill the scratchpad: loads, two exponentials and stores take turns.
// CHECK: elementwise 65536 f32 on tiny {{.*}} a second buffer: tile [1024] instead of the pinned tile [2048], which leaves room for a single buffer
func.func @single(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %empty = tensor.empty() : tensor<65536xf32>
  %0 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
    ins(%x : tensor<65536xf32>) outs(%empty : tensor<65536xf32>)
    attrs = {compilation_info = #iree_codegen.compilation_info<lowering_config = #large, translation_info = #how>} {
  ^bb0(%a: f32, %out: f32):
    %1 = math.exp %a : f32
    %2 = math.exp %1 : f32
    linalg.yield %2 : f32
  } -> tensor<65536xf32>
  return %0 : tensor<65536xf32>
}

// Tiles half as large have a second buffer: quiet.
func.func @double(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %empty = tensor.empty() : tensor<65536xf32>
  %0 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
    ins(%x : tensor<65536xf32>) outs(%empty : tensor<65536xf32>)
    attrs = {compilation_info = #iree_codegen.compilation_info<lowering_config = #small, translation_info = #how>} {
  ^bb0(%a: f32, %out: f32):
    %1 = math.exp %a : f32
    %2 = math.exp %1 : f32
    linalg.yield %2 : f32
  } -> tensor<65536xf32>
  return %0 : tensor<65536xf32>
}

// Three passes over rows of 8 KiB in small tiles: two in flight do not cover what a load takes.
// CHECK: reduction 16x2048 f32 on tiny {{.*}} deeper prefetch, 4 tiles in flight where they fit instead of 2 tiles of an operand in flight
func.func @softmax(%x: tensor<16x2048xf32>) -> tensor<16x2048xf32> {
  %empty = tensor.empty() : tensor<16x2048xf32>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<16x2048xf32>) outs(%empty : tensor<16x2048xf32>) -> tensor<16x2048xf32>
  return %0 : tensor<16x2048xf32>
}
