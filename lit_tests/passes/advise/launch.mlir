// RUN: xpu-shark simulate %s --xpu-target=mi300x | FileCheck %s
// RUN: xpu-shark simulate %s --xpu-target=mi300x --xpu-per=4 | FileCheck %s --check-prefix=PER

// Seven numbers are converted in a launch of their own, which costs more than all there is to do.
// CHECK: elementwise 7 f32 on mi300x {{.*}} one launch for it and its neighbour small_dispatch_1_{{.*}} instead of a launch of its own, 1 in a call, longer than its work
// With a call that gives four results it says how often for each, and what several a launch give.
// PER: elementwise 7 f32 on mi300x {{.*}} 16 results a launch (a batch, or steps of 16 tokens) instead of a launch of its own, 0.25 for each result
func.func @small(%x: tensor<7xi64>, %y: tensor<96xf32>) -> tensor<7x96xf32> {
  %empty = tensor.empty() : tensor<7xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<7xi64>) outs(%empty : tensor<7xf32>) {
  ^bb0(%a: i64, %out: f32):
    %2 = arith.sitofp %a : i64 to f32
    linalg.yield %2 : f32
  } -> tensor<7xf32>
  %barrier = util.optimization_barrier %0 : tensor<7xf32>
  %wide = tensor.empty() : tensor<7x96xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%barrier, %y : tensor<7xf32>, tensor<96xf32>) outs(%wide : tensor<7x96xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %2 = arith.mulf %a, %b : f32
    linalg.yield %2 : f32
  } -> tensor<7x96xf32>
  return %1 : tensor<7x96xf32>
}

// Work that outlasts its launch: quiet.
// CHECK-NOT: elementwise 4096x4096 {{.*}} a launch of its own
// PER-NOT: elementwise 4096x4096 {{.*}} a launch of its own
func.func @large(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %empty = tensor.empty() : tensor<4096x4096xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<4096x4096xf32>) outs(%empty : tensor<4096x4096xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = arith.addf %a, %a : f32
    linalg.yield %1 : f32
  } -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// Three launches of one dispatch, each of which reads what the one before makes: one launch does.
// CHECK: elementwise 64 f32 on mi300x {{.*}} one launch for those that follow each other, 3 at a time instead of a launch of its own, 3 in a call
func.func @chain(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = math.tanh %x : tensor<64xf32>
  %1 = util.optimization_barrier %0 : tensor<64xf32>
  %2 = math.tanh %1 : tensor<64xf32>
  %3 = util.optimization_barrier %2 : tensor<64xf32>
  %4 = math.tanh %3 : tensor<64xf32>
  return %4 : tensor<64xf32>
}

// Of two arms one runs: a launch in the other one is no neighbour.
// CHECK-NOT: elementwise {{.*}} a launch of its own, 1 in a call
func.func @arms(%x: tensor<64xf32>, %p: i1) -> tensor<64xf32> {
  %r = scf.if %p -> tensor<64xf32> {
    %0 = math.tanh %x : tensor<64xf32>
    scf.yield %0 : tensor<64xf32>
  } else {
    %0 = math.exp %x : tensor<64xf32>
    scf.yield %0 : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}
