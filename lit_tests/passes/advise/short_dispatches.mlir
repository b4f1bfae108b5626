// RUN: xpu-shark simulate %s --xpu-target=tpu_v6e | FileCheck %s --implicit-check-not="(explain short_dispatches"
// RUN: xpu-shark simulate %s --xpu-target=mi300x | FileCheck %s --check-prefix=LAUNCH --implicit-check-not="(explain short_dispatches"
// RUN: xpu-shark explain short_dispatches | FileCheck %s --check-prefix=RULE

// RULE: short_dispatches: small dispatches of one program wait for memory one after another.
// RULE: What to do:

#id = affine_map<(i) -> (i)>

// No launch is paid here, but each waits for its operand and then for its result to be stored.
// Where a launch has a price that is the matter.
// CHECK: elementwise 64 f32 and elementwise 65 f32 on tpu_v6e takes {{.*}} together; one dispatch for apart_dispatch_0_elementwise_64_f32 and apart_dispatch_1_elementwise_65_f32 instead of 2 that wait for memory one after another, longer than they work: {{.*}} of apart (explain short_dispatches:
// LAUNCH: one launch for it and its neighbour apart_dispatch_1_elementwise_65_f32
func.func @apart(%a: tensor<64xf32>, %b: tensor<65xf32>) -> (tensor<64xf32>, tensor<65xf32>) {
  %empty = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%a : tensor<64xf32>) outs(%empty : tensor<64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %1 = math.tanh %x : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  %other = tensor.empty() : tensor<65xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%b : tensor<65xf32>) outs(%other : tensor<65xf32>) {
  ^bb0(%x: f32, %o: f32):
    %3 = math.exp %x : f32
    linalg.yield %3 : f32
  } -> tensor<65xf32>
  return %0, %2 : tensor<64xf32>, tensor<65xf32>
}

// All but the first have what they need beside the core: nothing waits twice. Quiet.
func.func @chain(%a: tensor<64xf32>) -> tensor<64xf32> {
  %empty = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%a : tensor<64xf32>) outs(%empty : tensor<64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %1 = math.tanh %x : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  %2 = util.optimization_barrier %0 : tensor<64xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%2 : tensor<64xf32>) outs(%empty : tensor<64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %4 = math.exp %x : f32
    linalg.yield %4 : f32
  } -> tensor<64xf32>
  return %3 : tensor<64xf32>
}
