// RUN: xpu-shark-opt %s --passes=xpu-lower-kernels --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: translation_info<pipeline = #iree_codegen.no_pipeline>

#layout = #hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>
#target = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {target_triple = "x86_64-unknown-unknown-eabi-elf", native_vector_size = 16 : i64}>
#info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
#config = #iree_cpu.lowering_config<distribution = [64], vector_common_parallel = [4]>
#same = affine_map<(d0) -> (d0)>
module {
  hal.executable private @ex {
    hal.executable.variant public @cpu target(#target) {
      builtin.module {
        // Tiles become loops, and IREE is told that there is nothing left to do.
        // CHECK-LABEL: func.func @double()
        // CHECK: scf.forall
        // CHECK: scf.for
        // CHECK: vector<4xf32>
        // CHECK: return
        func.func @double() attributes {translation_info = #info, xpu.plan = "{\22name\22:\22double\22}"} {
          %c0 = arith.constant 0 : index
          %in = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : !iree_tensor_ext.dispatch.tensor<readonly:tensor<256xf32>>
          %out = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<256xf32>>
          %x = iree_tensor_ext.dispatch.tensor.load %in, offsets = [0], sizes = [256], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<256xf32>> -> tensor<256xf32>
          %empty = tensor.empty() : tensor<256xf32>
          %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<256xf32>) outs(%empty : tensor<256xf32>) attrs = {lowering_config = #config} {
          ^bb0(%a: f32, %b: f32):
            %s = arith.addf %a, %a : f32
            linalg.yield %s : f32
          } -> tensor<256xf32>
          iree_tensor_ext.dispatch.tensor.store %y, %out, offsets = [0], sizes = [256], strides = [1] : tensor<256xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<256xf32>>
          return
        }
      }
    }
  }
}

// -----

// What linalg leaves to later steps becomes loops as well.
#target = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">
#info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<Default>>
module {
  hal.executable private @ex {
    hal.executable.variant public @cpu target(#target) {
      builtin.module {
        // CHECK-LABEL: func.func @fill()
        // CHECK: scf.for
        // CHECK-NOT: linalg
        // CHECK: return
        func.func @fill() attributes {translation_info = #info, xpu.plan = "{\22name\22:\22fill\22}"} {
          %zero = arith.constant 0.0 : f32
          %x = memref.alloca() : memref<4xf32>
          linalg.fill ins(%zero : f32) outs(%x : memref<4xf32>)
          return
        }
      }
    }
  }
}

// -----

// A kernel for which IREE has chosen no lowering stays as it is, as does one without a plan.
#target = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">
#info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<Default>>
module {
  hal.executable private @ex {
    hal.executable.variant public @cpu target(#target) {
      builtin.module {
        // CHECK-LABEL: func.func @unchosen() attributes {xpu.plan
        // CHECK: linalg.fill
        func.func @unchosen() attributes {xpu.plan = "{\22name\22:\22unchosen\22}"} {
          %zero = arith.constant 0.0 : f32
          %x = memref.alloca() : memref<4xf32>
          linalg.fill ins(%zero : f32) outs(%x : memref<4xf32>)
          return
        }
      }
    }
    hal.executable.variant public @other target(#target) {
      builtin.module {
        // CHECK-LABEL: func.func @planless()
        // CHECK-SAME: translation_info = #translation
        func.func @planless() attributes {translation_info = #info} {
          return
        }
      }
    }
  }
}

// -----

// A lowering that fails leaves the kernel as it was, and is said.
// CHECK: pipeline<DoubleTilingExpert>
#target = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">
#info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
module {
  hal.executable private @ex {
    hal.executable.variant public @cpu target(#target) {
      builtin.module {
        // CHECK-LABEL: func.func @wrong()
        // CHECK-SAME: translation_info = #translation
        // CHECK-SAME: \22declined\22:\22lowering failed
        // expected-error @below {{failed to build pass pipeline}}
        // expected-remark @below {{wrong: loops have no probes: lowering failed}}
        func.func @wrong() attributes {translation_info = #info, xpu.plan = "{\22name\22:\22wrong\22}"} {
          return
        }
      }
    }
  }
}
