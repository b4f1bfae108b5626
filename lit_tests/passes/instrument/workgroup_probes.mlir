// RUN: xpu-shark-opt %s --passes=xpu-workgroup-probes --verify-diagnostics | FileCheck %s

#layout = #hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer>]>

// An export that IREE instrumented gets a plan without sites, one that it did not is named.
// CHECK: func.func @probed() attributes {xpu.plan = "{\22name\22:\22probed\22}"}
// CHECK: func.func @bare() {
// CHECK: func.func private @elsewhere()
// Another backend's kernels are left alone without a word: xpu-probe-coverage has named it.
// CHECK: func.func @far() {
module {
  hal.executable private @a {
    hal.executable.variant public @cpu target(<"llvm-cpu", "embedded-elf-x86_64">) {
      builtin.module {
        func.func @probed() {
          %c0 = arith.constant 0 : index
          %site = hal.interface.constant.load layout(#layout) ordinal(0) : i32
          %ring = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<1052672xi8>
          %key = hal.instrument.workgroup[%ring : memref<1052672xi8>] dispatch(%site) : index
          return
        }
        // expected-remark @below {{[xpu-shark.coverage] bare: no probe: IREE did not instrument this export}}
        func.func @bare() {
          return
        }
        func.func private @elsewhere()
      }
    }
    hal.executable.variant public @gpu target(<"cuda", "cuda-nvptx-fb">) {
      builtin.module {
        func.func @far() {
          return
        }
      }
    }
  }
}
