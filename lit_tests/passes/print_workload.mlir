// RUN: xpu-shark-opt %s --split-input-file --passes=xpu-print-workload --xpu-target=tiny --no-print | FileCheck %s

// A kernel: its tensors, then each loop nest with operands, work and tile sizes.
// CHECK: kernel @rows: modelled, llvm-cpu
// CHECK: tensor {{[0-9]+}}: global 8x16xf32
// CHECK: nest generic [parallel 8, reduction 16]
// CHECK: read tensor {{[0-9]+}}[d0, d1]
// CHECK: write tensor {{[0-9]+}}[d0]
// CHECK: work 1 add f32
// CHECK: tile distribution [4, 0]

// What a kernel is launched by but the module does not define is said, not skipped.
// CHECK: kernel @outside: unmodelled
// CHECK-NEXT: reason: the module does not define it

// CHECK: function @main at {{.*}}print_workload.mlir:
// CHECK-NEXT: concurrent
// CHECK-NEXT: fill 512 bytes on cpu at {{.*}}print_workload.mlir:
// CHECK-NEXT: write buffer 0[0 for 512]
// CHECK-NEXT: fill 32 bytes on cpu
// CHECK-NEXT: write buffer 0[0 for 32]
// CHECK-NEXT: repeat main.loop0: max(0, input1) times
// CHECK-NEXT: launch @rows() on cpu
// CHECK-NEXT: read buffer 0[0 for 512]
// CHECK-NEXT: both buffer 0[0 for 32]
// CHECK-NEXT: choice main.branch0
// CHECK-NEXT: arm 0
// CHECK-NEXT: launch @outside() on cpu
// CHECK-NEXT: arm 1
// CHECK-NEXT: nothing
// CHECK-NEXT: transfer 32 bytes from cpu to other
// CHECK-NEXT: read buffer 0[32 for 32]
// CHECK-NEXT: write buffer 0[0 for 32]
// CHECK-NEXT: collective all_reduce sum f32, 32 bytes, 2 devices on cpu
// CHECK-NEXT: read buffer 0[0 for 32]
// CHECK-NEXT: write buffer 0[0 for 32]
// CHECK-NEXT: function @idle
// CHECK-NEXT: no commands

#layout = #hal.pipeline.layout<bindings = [
  #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>
#config = #iree_cpu.lowering_config<distribution = [4, 0]>

module attributes {stream.affinity.default = #hal.device.affinity<@cpu>} {
  util.global private @cpu : !hal.device
  util.global private @other : !hal.device
  stream.cmd.func private @outside(%0[%1 for %2]: !stream.resource<*>)

  hal.executable private @ex {
    hal.executable.variant public @elf target(<"llvm-cpu", "embedded-elf-x86_64">) {
      hal.executable.export public @rows ordinal(0) layout(#layout)
      builtin.module {
        func.func @rows() {
          %c0 = arith.constant 0 : index
          %0 = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0)
            : !iree_tensor_ext.dispatch.tensor<readonly:tensor<8x16xf32>>
          %1 = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0)
            : !iree_tensor_ext.dispatch.tensor<readwrite:tensor<8xf32>>
          %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [8, 16], strides = [1, 1]
            : !iree_tensor_ext.dispatch.tensor<readonly:tensor<8x16xf32>> -> tensor<8x16xf32>
          %3 = iree_tensor_ext.dispatch.tensor.load %1, offsets = [0], sizes = [8], strides = [1]
            : !iree_tensor_ext.dispatch.tensor<readwrite:tensor<8xf32>> -> tensor<8xf32>
          %4 = linalg.generic {
            indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
            iterator_types = ["parallel", "reduction"]
          } ins(%2 : tensor<8x16xf32>) outs(%3 : tensor<8xf32>) attrs = {lowering_config = #config} {
          ^bb0(%in: f32, %out: f32):
            %5 = arith.addf %in, %out : f32
            linalg.yield %5 : f32
          } -> tensor<8xf32>
          iree_tensor_ext.dispatch.tensor.store %4, %1, offsets = [0], sizes = [8], strides = [1]
            : tensor<8xf32> -> !iree_tensor_ext.dispatch.tensor<readwrite:tensor<8xf32>>
          return
        }
      }
    }
  }

  util.func public @main(%r: !stream.resource<transient>, %n: index, %flag: i1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant 0 : i8
    %channel = stream.channel.create rank(%c0) count(%c2) : !stream.channel
    stream.cmd.execute with(%r as %p: !stream.resource<transient>{%c512}) {
      stream.cmd.concurrent {
        stream.cmd.fill %zero, %p[%c0 for %c512] : i8 -> !stream.resource<transient>{%c512}
        stream.cmd.fill %zero, %p[%c0 for %c32] : i8 -> !stream.resource<transient>{%c512}
      }
    } => !stream.timepoint
    cf.br ^head(%c0 : index)
  ^head(%i: index):
    %more = arith.cmpi slt, %i, %n : index
    cf.cond_br %more, ^body, ^exit
  ^body:
    stream.cmd.execute with(%r as %p: !stream.resource<transient>{%c512}) {
      stream.cmd.dispatch @ex::@elf::@rows {
        ro %p[%c0 for %c512] : !stream.resource<transient>{%c512},
        rw %p[%c0 for %c32] : !stream.resource<transient>{%c512}
      }
    } => !stream.timepoint
    cf.cond_br %flag, ^extra, ^next
  ^extra:
    stream.cmd.execute with(%r as %p: !stream.resource<transient>{%c512}) {
      stream.cmd.call @outside(rw %p[%c0 for %c32]) : (!stream.resource<transient>{%c512}) -> ()
    } => !stream.timepoint
    cf.br ^next
  ^next:
    %j = arith.addi %i, %c1 : index
    cf.br ^head(%j : index)
  ^exit:
    stream.cmd.execute with(%r as %p: !stream.resource<transient>{%c512}) {
      stream.cmd.copy %p[%c32], %p[%c0], %c32
        : !stream.resource<transient>{%c512} -> !stream.resource<transient>{%c512}
      stream.cmd.flush to(#hal.device.affinity<@other>) %p[%c0 for %c32]
        : !stream.resource<transient>{%c512}
      stream.cmd.collective<all_reduce with sum : f32>[%c32] channel(%channel) {
        ro %p[%c0 for %c32] : !stream.resource<transient>{%c512},
        wo %p[%c0 for %c32] : !stream.resource<transient>{%c512}
      }
    } => !stream.timepoint
    util.return
  }

  util.func public @idle() {
    util.return
  }
}

// -----

// A module without a host program: each function is a kernel that is launched once. An op that
// nothing models is named, and bounded by the arrays it reads and writes.
// CHECK: kernel @strange: partial
// CHECK-NEXT: reason: no model of func.call
// CHECK-NEXT: tensor 0: global 16xf32
// CHECK-NEXT: tensor 1: global 16xf32
// CHECK-NEXT: nest call [parallel 16]
// CHECK-NEXT: read tensor 0[d0]
// CHECK-NEXT: nest call [parallel 16]
// CHECK-NEXT: write tensor 1[d0]
// CHECK-NEXT: kernel @handles: unmodelled
// CHECK-NEXT: reason: element type '!util.buffer' is not a number type
// CHECK-NEXT: function @strange
// CHECK-NEXT: launch @strange()
// CHECK-NEXT: function @handles
// CHECK-NEXT: launch @handles()

func.func @strange(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = func.call @elsewhere(%x) : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
func.func private @elsewhere(%x: tensor<16xf32>) -> tensor<16xf32>
func.func @handles(%x: tensor<4x!util.buffer>) -> tensor<4x!util.buffer> {
  return %x : tensor<4x!util.buffer>
}
