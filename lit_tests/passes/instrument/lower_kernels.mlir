// RUN: xpu-shark-opt %s --passes=xpu-lower-kernels --split-input-file --verify-diagnostics | FileCheck %s
// RUN: xpu-shark-opt %s --passes=xpu-lower-kernels --split-input-file --verify-diagnostics --mlir-print-debuginfo | FileCheck %s --check-prefix=LOCATIONS

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

// -----

// A length that is read from a tensor is a trip count of the kernel's workload. Its number stays
// with it: the load that it becomes has it in its location.
#layout2 = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>
#target = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {target_triple = "x86_64-unknown-unknown-eabi-elf", native_vector_size = 16 : i64}>
#info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<Default>>
#row = affine_map<(d0) -> (d0)>
#sum = affine_map<(d0) -> ()>
module {
  hal.executable private @ex {
    hal.executable.variant public @cpu target(#target) {
      builtin.module {
        // LOCATIONS-LABEL: func.func @ragged()
        // LOCATIONS: memref.load {{.*}} loc(#[[NAMED:loc[0-9]*]])
        // LOCATIONS: #[[NAMED]] = loc("xpu-shark.trip=1"(
        func.func @ragged() attributes {translation_info = #info, xpu.plan = "{\22name\22:\22ragged\22}"} {
          %c0 = arith.constant 0 : index
          %zero = arith.constant 0.0 : f32
          %x = hal.interface.binding.subspan layout(#layout2) binding(0) offset(%c0) : !iree_tensor_ext.dispatch.tensor<readonly:tensor<16xf32>>
          %n = hal.interface.binding.subspan layout(#layout2) binding(1) offset(%c0) : !iree_tensor_ext.dispatch.tensor<readonly:tensor<1xi32>>
          %out = hal.interface.binding.subspan layout(#layout2) binding(2) offset(%c0) : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<f32>>
          %0 = iree_tensor_ext.dispatch.tensor.load %x, offsets = [0], sizes = [16], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<16xf32>> -> tensor<16xf32>
          %1 = iree_tensor_ext.dispatch.tensor.load %n, offsets = [0], sizes = [1], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<1xi32>> -> tensor<1xi32>
          %length = tensor.extract %1[%c0] : tensor<1xi32>
          %end = arith.index_cast %length : i32 to index
          %part = tensor.extract_slice %0[0] [%end] [1] : tensor<16xf32> to tensor<?xf32>
          %empty = tensor.empty() : tensor<f32>
          %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
          %sum = linalg.generic {indexing_maps = [#row, #sum], iterator_types = ["reduction"]} ins(%part : tensor<?xf32>) outs(%fill : tensor<f32>) {
          ^bb0(%a: f32, %b: f32):
            %s = arith.addf %a, %b : f32
            linalg.yield %s : f32
          } -> tensor<f32>
          iree_tensor_ext.dispatch.tensor.store %sum, %out, offsets = [], sizes = [], strides = [] : tensor<f32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<f32>>
          return
        }
      }
    }
  }
}
