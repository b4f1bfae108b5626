// RUN: xpu-shark simulate %s --xpu-target=mi300x | FileCheck %s

// A barrier keeps exponentials and their sums apart: the exponentials are stored and loaded again.
// CHECK: elementwise {{[0-9x]+}} f32 and reduction 4096x1024 f32 on mi300x {{.*}} one dispatch for both instead of pair_dispatch_0_{{.*}}, whose result only a launch of pair_dispatch_1_{{.*}} reads, in a dispatch of its own
func.func @pair(%x: tensor<4096x1024xf32>) -> tensor<4096xf32> {
  %empty = tensor.empty() : tensor<4096x1024xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<4096x1024xf32>) outs(%empty : tensor<4096x1024xf32>) {
  ^bb0(%a: f32, %out: f32):
    %2 = math.exp %a : f32
    linalg.yield %2 : f32
  } -> tensor<4096x1024xf32>
  %barrier = util.optimization_barrier %0 : tensor<4096x1024xf32>
  %zero = arith.constant 0.0 : f32
  %row = tensor.empty() : tensor<4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%row : tensor<4096xf32>) -> tensor<4096xf32>
  %1 = linalg.reduce ins(%barrier : tensor<4096x1024xf32>) outs(%init : tensor<4096xf32>) dimensions = [1]
    (%a: f32, %out: f32) {
      %2 = arith.addf %a, %out : f32
      linalg.yield %2 : f32
    }
  return %1 : tensor<4096xf32>
}

// Of a pair that is hardly more than its launches the launch is no finding of its own.
// CHECK-NOT: one launch for it
// CHECK: one dispatch for both instead of small_dispatch_0_{{.*}}, whose result only a launch of small_dispatch_1_{{.*}} reads
// CHECK-NOT: one launch for it
// CHECK: small on mi300x: {{[0-9]+}} suggestion
func.func @small(%x: tensor<64x64xf32>) -> tensor<64xf32> {
  %0 = math.exp %x : tensor<64x64xf32>
  %barrier = util.optimization_barrier %0 : tensor<64x64xf32>
  %zero = arith.constant 0.0 : f32
  %row = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%row : tensor<64xf32>) -> tensor<64xf32>
  %1 = linalg.reduce ins(%barrier : tensor<64x64xf32>) outs(%init : tensor<64xf32>) dimensions = [1]
    (%a: f32, %out: f32) {
      %2 = arith.addf %a, %out : f32
      linalg.yield %2 : f32
    }
  return %1 : tensor<64xf32>
}

// The same without the barrier is one dispatch; what is returned too, or read by a product, stays
// where it is: quiet.
// CHECK-NOT: one dispatch for both
func.func @one(%x: tensor<4096x1024xf32>) -> tensor<4096xf32> {
  %empty = tensor.empty() : tensor<4096x1024xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<4096x1024xf32>) outs(%empty : tensor<4096x1024xf32>) {
  ^bb0(%a: f32, %out: f32):
    %2 = math.exp %a : f32
    linalg.yield %2 : f32
  } -> tensor<4096x1024xf32>
  %zero = arith.constant 0.0 : f32
  %row = tensor.empty() : tensor<4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%row : tensor<4096xf32>) -> tensor<4096xf32>
  %1 = linalg.reduce ins(%0 : tensor<4096x1024xf32>) outs(%init : tensor<4096xf32>) dimensions = [1]
    (%a: f32, %out: f32) {
      %2 = arith.addf %a, %out : f32
      linalg.yield %2 : f32
    }
  return %1 : tensor<4096xf32>
}

func.func @both(%x: tensor<4096x1024xf32>) -> (tensor<4096x1024xf32>, tensor<4096x1024xf32>) {
  %0 = math.exp %x : tensor<4096x1024xf32>
  %barrier = util.optimization_barrier %0 : tensor<4096x1024xf32>
  %1 = arith.addf %barrier, %x : tensor<4096x1024xf32>
  return %barrier, %1 : tensor<4096x1024xf32>, tensor<4096x1024xf32>
}

func.func @product(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = math.exp %x : tensor<1024x1024xf32>
  %barrier = util.optimization_barrier %0 : tensor<1024x1024xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = linalg.matmul ins(%barrier, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%init : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %1 : tensor<1024x1024xf32>
}
