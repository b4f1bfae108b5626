// RUN: xpu-shark-opt %s --split-input-file --verify-diagnostics --no-print

// Errors of the parser, of the verifier and of passes are compared with the comments.
func.func @f(%x: i32) {
  // expected-error @below {{must be floating-point-like}}
  %0 = arith.addf %x, %x : i32
  return
}

// -----

foo // expected-error {{custom op 'foo' is unknown}}

// -----

// A part without comments must be silent.
func.func @quiet(%x: f32) -> f32 {
  return %x : f32
}
