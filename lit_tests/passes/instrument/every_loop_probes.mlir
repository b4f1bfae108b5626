// RUN: xpu-shark-opt %s --passes=xpu-every-loop-probes | FileCheck %s

#layout = #hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>
#target = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {target_triple = "x86_64-unknown-unknown-eabi-elf"}>
module {
  hal.executable private @ex {
    hal.executable.variant public @cpu target(#target) {
      builtin.module {
        // Every iteration reports its induction variable, also where the plan knows it already;
        // a while, which has none, reports 0. Nothing reads the cycle counter.
        // CHECK-LABEL: func.func @loops
        // CHECK-SAME: \22type\22:\22for\22,\22number\22:0
        // CHECK-SAME: \22site\22:[[#]]
        // CHECK-SAME: \22type\22:\22while\22,\22number\22:2
        // CHECK-SAME: \22site\22:[[#]]
        // CHECK-NOT: readcyclecounter
        // CHECK: scf.for %[[I:[a-z0-9]+]] =
        // CHECK-NEXT: %[[OUTER:[0-9]+]] = arith.index_cast %[[I]] : index to i32
        // CHECK-NEXT: hal.instrument.value{{.*}} = %[[OUTER]] : i32
        // CHECK-NEXT: scf.for %[[J:[a-z0-9]+]] =
        // CHECK-NEXT: %[[INNER:[0-9]+]] = arith.index_cast %[[J]] : index to i32
        // CHECK-NEXT: hal.instrument.value{{.*}} = %[[INNER]] : i32
        // CHECK-NEXT: func.call
        // CHECK: scf.while
        // CHECK: do
        // CHECK: %[[ZERO:.+]] = arith.constant 0 : i32
        // CHECK-NEXT: hal.instrument.value{{.*}} = %[[ZERO]] : i32
        // CHECK-NEXT: arith.addi
        // CHECK-NOT: readcyclecounter
        // CHECK: return
        func.func @loops() attributes {xpu.plan = "{\22name\22:\22loops\22}"} {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c4 = arith.constant 4 : index
          %site = hal.interface.constant.load layout(#layout) ordinal(0) : i32
          %ring = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<1052672xi8>
          %key = hal.instrument.workgroup[%ring : memref<1052672xi8>] dispatch(%site) : index
          scf.for %i = %c0 to %c4 step %c1 {
            scf.for %j = %c0 to %i step %c1 {
              func.call @work(%j) : (index) -> ()
            }
          }
          %last = scf.while (%v = %c0) : (index) -> index {
            %more = arith.cmpi slt, %v, %c4 : index
            scf.condition(%more) %v : index
          } do {
          ^bb0(%v: index):
            %w = arith.addi %v, %c1 : index
            scf.yield %w : index
          }
          return
        }
        func.func private @work(index)
      }
    }
  }
}
