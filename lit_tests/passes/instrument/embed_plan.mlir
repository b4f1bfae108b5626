// RUN: xpu-shark-opt %s --passes=xpu-embed-plan --split-input-file --verify-diagnostics | FileCheck %s

// The plans of all exports go to the function that yields the dump, beside what it says already.
// CHECK: util.func public @__query_instruments
// CHECK-SAME: iree.reflection = {kept = "yes", "xpu-shark.plan" = "{\22exports\22:[{\22name\22:\22a\22},{\22name\22:\22b\22,\22loops\22:2}],\22schema\22:1}"}
// CHECK-NOT: xpu.plan
module {
  util.func public @__query_instruments(%list: !util.list<?>) attributes {iree.reflection = {kept = "yes"}} {
    util.return
  }
  func.func @a() attributes {xpu.plan = "{\22name\22:\22a\22}"} {
    return
  }
  func.func @b() attributes {xpu.plan = "{\22name\22:\22b\22,\22loops\22:2}"} {
    return
  }
}

// -----

// expected-remark @below {{[xpu-shark.coverage] __query_instruments: not in this module, so it has no probes and no plan}}
module {
  // CHECK: func.func @a() {
  func.func @a() {
    return
  }
}
