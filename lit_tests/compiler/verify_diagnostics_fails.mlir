// RUN: not xpu-shark-opt %s --verify-diagnostics --no-print 2>&1 | FileCheck %s

// CHECK: unexpected: {{.*}}verify_diagnostics_fails.mlir:[[# @LINE + 3]]:10: error: use of undeclared SSA value name
// CHECK-NEXT: missing: {{.*}}verify_diagnostics_fails.mlir:[[# @LINE + 1]]: error "something else"
func.func @f() -> i32 { // expected-error {{something else}}
  return %nothing : i32
}
