// RUN: xpu-shark-opt %s --passes=xpu-loop-probes --split-input-file --verify-diagnostics | FileCheck %s

#layout = #hal.pipeline.layout<constants = 3, bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>
#target = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {target_triple = "x86_64-unknown-unknown-eabi-elf"}>
module {
  hal.executable private @ex {
    hal.executable.variant public @cpu target(#target) {
      builtin.module {
        // Loops between constants, outer induction variables and the workgroup's id are in the
        // plan and have no probe. The cycle counter is read at the start (both halves), at the
        // end, and in the outer loop, whose iterations hold 600 inner ones of two operations.
        // CHECK-LABEL: func.func @known
        // CHECK-SAME: {\22type\22:\22for\22,\22number\22:0,\22lower\22:[\22c\22,0],\22upper\22:[\22c\22,64],\22step\22:[\22c\22,8],\22body\22:[{\22type\22:\22stamp\22,\22site\22:2,\22loop\22:0}
        // CHECK-SAME: \22upper\22:[\22op\22,\22add\22,64,{{\[\[}}\22iv\22,0],[\22id\22,1]{{\]\]}}
        // CHECK: %[[KEY:[0-9a-z_]+]] = hal.instrument.workgroup
        // CHECK-NEXT: llvm.readcyclecounter
        // CHECK: hal.instrument.value[{{.*}} for %[[KEY]]] 0 : i8
        // CHECK: hal.instrument.value[{{.*}} for %[[KEY]]] 1 : i8
        // CHECK-NOT: hal.instrument.value
        // CHECK: scf.for
        // CHECK-NEXT: llvm.readcyclecounter
        // CHECK: hal.instrument.value[{{.*}} for %[[KEY]]] 2 : i8
        // CHECK-NOT: hal.instrument.value
        // CHECK: scf.for
        // CHECK-NEXT: func.call @work
        // CHECK: scf.for
        // CHECK-NEXT: func.call @work
        // CHECK: llvm.readcyclecounter
        // CHECK: hal.instrument.value[{{.*}} for %[[KEY]]] 3 : i8
        // CHECK-NOT: hal.instrument
        // CHECK: return
        func.func @known() attributes {xpu.plan = "{\22name\22:\22known\22}"} {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c8 = arith.constant 8 : index
          %c600 = arith.constant 600 : index
          %c64 = arith.constant 64 : index
          %site = hal.interface.constant.load layout(#layout) ordinal(0) : i32
          %ring = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<1052672xi8>
          %key = hal.instrument.workgroup[%ring : memref<1052672xi8>] dispatch(%site) : index
          %y = hal.interface.workgroup.id[1] : index
          scf.for %i = %c0 to %c64 step %c8 {
            %end = arith.addi %i, %y : index
            scf.for %j = %c0 to %c600 step %c1 {
              func.call @work(%j) : (index) -> ()
            }
            scf.for %j = %i to %end step %c1 {
              func.call @work(%j) : (index) -> ()
            }
          }
          return
        }

        // A bound that is loaded is reported where it is loaded, once for the two loops that end
        // there; the size of the launch is reported behind the workgroup's record.
        // CHECK-LABEL: func.func @data
        // CHECK-SAME: \22sizes\22:[{\22ordinal\22:0,\22value\22:[\22probe\22,0]}]
        // CHECK: %[[SIZE:[0-9a-z_]+]] = hal.interface.constant.load {{.*}} ordinal(1) : i32
        // CHECK: %[[KEY:[0-9a-z_]+]] = hal.instrument.workgroup
        // CHECK: hal.instrument.value[{{.*}} for %[[KEY]]] 0 : i8 = %[[SIZE]] : i32
        // CHECK: scf.for
        // CHECK-NEXT: %[[N:[0-9a-z_]+]] = memref.load
        // CHECK-NEXT: hal.instrument.value[{{.*}}] 1 : i8 = %[[N]] : i32
        // CHECK-NEXT: arith.index_cast %[[N]]
        // CHECK-NEXT: scf.for
        // CHECK-NEXT: func.call
        // CHECK: scf.for
        // CHECK-NEXT: func.call
        func.func @data() attributes {xpu.plan = "{\22name\22:\22data\22}"} {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %site = hal.interface.constant.load layout(#layout) ordinal(0) : i32
          %size = hal.interface.constant.load layout(#layout) ordinal(1) : i32
          %ring = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<1052672xi8>
          %lengths = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<8xi32>
          %key = hal.instrument.workgroup[%ring : memref<1052672xi8>] dispatch(%site) : index
          %wide = arith.index_cast %size : i32 to index
          %rows = iree_tensor_ext.dispatch.workload.ordinal %wide, 0 : index
          scf.for %i = %c0 to %rows step %c1 {
            %n = memref.load %lengths[%i] : memref<8xi32>
            %end = arith.index_cast %n : i32 to index
            scf.for %j = %c0 to %end step %c1 {
              func.call @work(%j) : (index) -> ()
            }
            scf.for %j = %c1 to %end step %c1 {
              func.call @work(%j) : (index) -> ()
            }
          }
          return
        }

        // The condition of a branch around a loop and of a while is reported where it is made; a
        // branch without a loop is not followed.
        // CHECK-LABEL: func.func @branches
        // CHECK-SAME: \22type\22:\22if\22
        // CHECK-SAME: \22type\22:\22while\22
        // CHECK: arith.cmpf
        // CHECK-NEXT: arith.extui {{.*}} : i1 to i32
        // CHECK-NEXT: hal.instrument.value
        // CHECK: scf.while
        // CHECK: arith.cmpf
        // CHECK-NEXT: arith.extui {{.*}} : i1 to i32
        // CHECK-NEXT: hal.instrument.value
        // CHECK: arith.cmpf ogt
        // CHECK-NEXT: scf.if
        func.func @branches() attributes {xpu.plan = "{\22name\22:\22branches\22}"} {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c4 = arith.constant 4 : index
          %half = arith.constant 0.5 : f32
          %site = hal.interface.constant.load layout(#layout) ordinal(0) : i32
          %ring = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<1052672xi8>
          %data = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<8xf32>
          %key = hal.instrument.workgroup[%ring : memref<1052672xi8>] dispatch(%site) : index
          %x = memref.load %data[%c0] : memref<8xf32>
          %cold = arith.cmpf olt, %x, %half : f32
          scf.if %cold {
            scf.for %i = %c0 to %c4 step %c1 {
              func.call @work(%i) : (index) -> ()
            }
          }
          %last = scf.while (%v = %x) : (f32) -> f32 {
            %more = arith.cmpf olt, %v, %half : f32
            scf.condition(%more) %v : f32
          } do {
          ^bb0(%v: f32):
            %w = arith.addf %v, %v : f32
            scf.yield %w : f32
          }
          %hot = arith.cmpf ogt, %last, %half : f32
          scf.if %hot {
            func.call @work(%c1) : (index) -> ()
          }
          return
        }

        // What is a trip count of the workload stands in the plan with its number: turns of a loop,
        // how often a branch is taken, and a length that no loop here hangs on.
        // CHECK-LABEL: func.func @trips
        // CHECK-SAME: {\22type\22:\22value\22,\22site\22:0,\22trip\22:3}
        // CHECK-SAME: {\22type\22:\22if\22,{{.*}}\22trip\22:2}
        // CHECK-SAME: {\22type\22:\22for\22,{{.*}}\22trip\22:1}
        // CHECK: %[[N:[0-9a-z_]+]] = memref.load
        // CHECK-NEXT: hal.instrument.value[{{.*}}] 0 : i8 = %[[N]] : i32
        func.func @trips() attributes {xpu.plan = "{\22name\22:\22trips\22}"} {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %site = hal.interface.constant.load layout(#layout) ordinal(0) : i32
          %ring = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<1052672xi8>
          %lengths = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<8xi32>
          %key = hal.instrument.workgroup[%ring : memref<1052672xi8>] dispatch(%site) : index
          %n = memref.load %lengths[%c0] : memref<8xi32> loc("xpu-shark.trip=3"("f.mlir":1:1))
          %x = hal.interface.workgroup.id[0] : index
          %first = arith.cmpi eq, %x, %c0 : index
          scf.if %first {
            func.call @work(%c1) : (index) -> ()
          } loc(fused["f.mlir":2:1, "xpu-shark.trip=2"("f.mlir":3:1)])
          scf.for %i = %c0 to %c2 step %c1 {
            func.call @work(%i) : (index) -> ()
          } loc("xpu-shark.trip=1"("f.mlir":4:1))
          return
        }
        func.func private @work(index)
      }
    }
  }
}

// -----

// What is not understood is left without loop probes, and said.
#layout = #hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer>]>
#arm = #hal.executable.target<"llvm-cpu", "embedded-elf-arm_64", {target_triple = "aarch64-unknown-unknown-eabi-elf"}>
module {
  hal.executable private @ex {
    hal.executable.variant public @cpu target(#arm) {
      builtin.module {
        // CHECK-LABEL: func.func @jumps
        // CHECK-SAME: \22declined\22:\22its control flow is not structured\22
        // expected-remark @below {{[xpu-shark.coverage] jumps: loops have no probes: its control flow is not structured}}
        func.func @jumps() attributes {xpu.plan = "{\22name\22:\22jumps\22}"} {
          %c0 = arith.constant 0 : index
          %site = hal.interface.constant.load layout(#layout) ordinal(0) : i32
          %ring = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<1052672xi8>
          %key = hal.instrument.workgroup[%ring : memref<1052672xi8>] dispatch(%site) : index
          cf.br ^end
        ^end:
          return
        }

        // CHECK-LABEL: func.func @inside
        // CHECK-NOT: hal.instrument.value
        // CHECK-NOT: readcyclecounter
        // CHECK: func.func private @work
        // expected-remark @below {{[xpu-shark.coverage] inside: no times: programs may not read the cycle counter on aarch64}}
        // expected-remark @below {{[xpu-shark.coverage] inside: loops inside scf.index_switch have no probes and no plan}}
        func.func @inside() attributes {xpu.plan = "{\22name\22:\22inside\22}"} {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c4 = arith.constant 4 : index
          %site = hal.interface.constant.load layout(#layout) ordinal(0) : i32
          %ring = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<1052672xi8>
          %key = hal.instrument.workgroup[%ring : memref<1052672xi8>] dispatch(%site) : index
          %x = hal.interface.workgroup.id[0] : index
          scf.index_switch %x
          case 1 {
            scf.for %i = %c0 to %c4 step %c1 {
              func.call @work(%i) : (index) -> ()
            }
            scf.yield
          }
          default {
          }
          return
        }
        func.func private @work(index)
      }
    }
  }
}
