// RUN: xpu-shark-opt %s --passes=xpu-give-advice --xpu-target=mi300x --no-print 2>&1 | FileCheck %s --implicit-check-not="instead of int_div" --implicit-check-not="instead of div by 3, 9" --implicit-check-not="instead of pow,"
// RUN: xpu-shark simulate %s --xpu-target=mi300x --xpu-passes=xpu-print-workload | FileCheck %s --check-prefix=WORK

// A form is proposed only where the constant in the IR allows it.

#id = affine_map<(i) -> (i)>
#in = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// An exponent that is a half more than a whole number: products and a root.
// CHECK-DAG: elementwise 2097152 f32 on mi300x {{.*}} products of x, and of its square root where the exponent is a half instead of pow by 2.5, 100 % of the vector unit's cycles
// WORK: kernel @half
// WORK: work 8 pow f32
func.func @half(%x: tensor<2097152xf32>) -> tensor<2097152xf32> {
  %y = arith.constant 2.5 : f32
  %empty = tensor.empty() : tensor<2097152xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : tensor<2097152xf32>) outs(%empty : tensor<2097152xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = math.powf %a, %y : f32
    %2 = math.powf %1, %y : f32
    %3 = math.powf %2, %y : f32
    %4 = math.powf %3, %y : f32
    %5 = math.powf %4, %y : f32
    %6 = math.powf %5, %y : f32
    %7 = math.powf %6, %y : f32
    %8 = math.powf %7, %y : f32
    linalg.yield %8 : f32
  } -> tensor<2097152xf32>
  return %0 : tensor<2097152xf32>
}

// One that is neither: where x^y has a value, so has the logarithm.
// CHECK-DAG: elementwise 2098176 f32 on mi300x {{.*}} exp(y log x) instead of pow by 1.7, 100 % of the vector unit's cycles
func.func @real(%x: tensor<2098176xf32>) -> tensor<2098176xf32> {
  %y = arith.constant 1.7 : f32
  %empty = tensor.empty() : tensor<2098176xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : tensor<2098176xf32>) outs(%empty : tensor<2098176xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = math.powf %a, %y : f32
    %2 = math.powf %1, %y : f32
    %3 = math.powf %2, %y : f32
    %4 = math.powf %3, %y : f32
    %5 = math.powf %4, %y : f32
    %6 = math.powf %5, %y : f32
    %7 = math.powf %6, %y : f32
    %8 = math.powf %7, %y : f32
    linalg.yield %8 : f32
  } -> tensor<2098176xf32>
  return %0 : tensor<2098176xf32>
}

// What compilers make of a constant is counted as that: x^2, and an integer by 7.
// WORK: kernel @by_compiler
// WORK: work 1 mul f32
// WORK: work 1 convert i32
// WORK-NEXT: work 1 mul i32
// WORK-NEXT: work 2 shift i32
// WORK-NEXT: work 2 add i32
func.func @by_compiler(%x: tensor<1048576xf32>) -> tensor<1048576xi32> {
  %two = arith.constant 2.0 : f32
  %seven = arith.constant 7 : i32
  %empty = tensor.empty() : tensor<1048576xi32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : tensor<1048576xf32>) outs(%empty : tensor<1048576xi32>) {
  ^bb0(%a: f32, %out: i32):
    %1 = math.powf %a, %two : f32
    %2 = arith.fptosi %1 : f32 to i32
    %3 = arith.divsi %2, %seven : i32
    linalg.yield %3 : i32
  } -> tensor<1048576xi32>
  return %0 : tensor<1048576xi32>
}

// Exponents and divisors that only a run knows: quiet.
func.func @runtime(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>, %d: tensor<1048576xi32>) -> (tensor<1048576xf32>, tensor<1048576xi32>) {
  %empty = tensor.empty() : tensor<1048576xf32>
  %wholes = tensor.empty() : tensor<1048576xi32>
  %0:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id], iterator_types = ["parallel"]}
    ins(%x, %y, %d : tensor<1048576xf32>, tensor<1048576xf32>, tensor<1048576xi32>) outs(%empty, %wholes : tensor<1048576xf32>, tensor<1048576xi32>) {
  ^bb0(%a: f32, %b: f32, %c: i32, %out: f32, %out2: i32):
    %1 = math.powf %a, %b : f32
    %2 = math.powf %1, %b : f32
    %3 = math.powf %2, %b : f32
    %4 = math.powf %3, %b : f32
    %5 = arith.divsi %c, %c : i32
    %6 = arith.divsi %5, %c : i32
    linalg.yield %4, %6 : f32, i32
  } -> (tensor<1048576xf32>, tensor<1048576xi32>)
  return %0#0, %0#1 : tensor<1048576xf32>, tensor<1048576xi32>
}

// The dividend is the same along a row, its divisors are not: quiet.
func.func @dividend(%x: tensor<1024x1024xf32>, %s: tensor<1024xf32>) -> tensor<1024x1024xf32> {
  %empty = tensor.empty() : tensor<1024x1024xf32>
  %0 = linalg.generic {indexing_maps = [#in, #row, #in], iterator_types = ["parallel", "parallel"]}
    ins(%x, %s : tensor<1024x1024xf32>, tensor<1024xf32>) outs(%empty : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.divf %b, %a : f32
    %2 = arith.divf %1, %a : f32
    %3 = arith.divf %2, %a : f32
    %4 = arith.divf %3, %a : f32
    %5 = arith.divf %4, %a : f32
    %6 = arith.divf %5, %a : f32
    %7 = arith.divf %6, %a : f32
    %8 = arith.divf %7, %a : f32
    linalg.yield %8 : f32
  } -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}

// By a power of two: its reciprocal is exact, so compilers multiply; by 3 they divide.
// WORK: kernel @quarter
// WORK: work 1 mul f32
// WORK-NEXT: work 1 div f32
func.func @quarter(%x: tensor<1048576xf32>) -> tensor<1048576xf32> {
  %four = arith.constant 4.0 : f32
  %three = arith.constant 3.0 : f32
  %empty = tensor.empty() : tensor<1048576xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : tensor<1048576xf32>) outs(%empty : tensor<1048576xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = arith.divf %a, %four : f32
    %2 = arith.divf %1, %three : f32
    linalg.yield %2 : f32
  } -> tensor<1048576xf32>
  return %0 : tensor<1048576xf32>
}
