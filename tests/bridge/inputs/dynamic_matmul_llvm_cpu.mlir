module {
hal.executable private @dynamic_mlp_dispatch_0 {
  hal.executable.variant public @embedded_elf_x86_64 target(<"llvm-cpu", "embedded-elf-x86_64", {cpu = "x86-64-v3", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 32 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>) {
    hal.executable.export public @dynamic_mlp_dispatch_0_matmul_Dx128x64_f32 ordinal(0) layout(#hal.pipeline.layout<constants = 2, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) count(%arg0: !hal.device, %arg1: index) -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%arg1)
      hal.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @dynamic_mlp_dispatch_0_matmul_Dx128x64_f32() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>} {
        %c32_i64 = arith.constant 32 : i64
        %cst = arith.constant 0.000000e+00 : f32
        %c0 = arith.constant 0 : index
        %0 = hal.interface.constant.load layout(<constants = 2, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) ordinal(0) : i32
        %1 = hal.interface.constant.load layout(<constants = 2, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) ordinal(1) : i32
        %2 = arith.extui %0 : i32 to i64
        %3 = arith.extui %1 : i32 to i64
        %4 = arith.shli %3, %c32_i64 : i64
        %5 = arith.ori %2, %4 : i64
        %6 = arith.index_castui %5 : i64 to index
        %7 = util.assume.int %6<umin = 0, umax = 9007199254740991> : index
        %8 = hal.interface.binding.subspan layout(<constants = 2, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) binding(1) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : memref<64x128xf32, #hal.descriptor_type<storage_buffer>>
        %9 = iree_tensor_ext.dispatch.workload.ordinal %7, 0 : index
        %10 = hal.interface.binding.subspan layout(<constants = 2, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : memref<?x64xf32, #hal.descriptor_type<storage_buffer>>{%9}
        %11 = hal.interface.binding.subspan layout(<constants = 2, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) binding(2) alignment(64) offset(%c0) flags(Indirect) : memref<?x128xf32, #hal.descriptor_type<storage_buffer>>{%9}
        %12 = iree_codegen.load_from_buffer %10 : memref<?x64xf32, #hal.descriptor_type<storage_buffer>> -> tensor<?x64xf32>
        %13 = iree_codegen.load_from_buffer %8 : memref<64x128xf32, #hal.descriptor_type<storage_buffer>> -> tensor<64x128xf32>
        %14 = tensor.empty(%9) : tensor<?x128xf32>
        %15 = linalg.fill {lowering_config = #iree_cpu.lowering_config<cache_parallel = [64, 64], vector_common_parallel = [8, 8]>} ins(%cst : f32) outs(%14 : tensor<?x128xf32>) -> tensor<?x128xf32>
        %16 = linalg.matmul {lowering_config = #iree_cpu.lowering_config<cache_parallel = [64, 64, 0], distribution = [64, 64, 0], vector_common_parallel = [8, 8, 0], vector_reduction = [0, 0, 8]>} ins(%12, %13 : tensor<?x64xf32>, tensor<64x128xf32>) outs(%15 : tensor<?x128xf32>) -> tensor<?x128xf32>
        %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%16 : tensor<?x128xf32>) outs(%14 : tensor<?x128xf32>) attrs =  {lowering_config = #iree_cpu.lowering_config<cache_parallel = [64, 64], vector_common_parallel = [8, 8]>} {
        ^bb0(%in: f32, %out: f32):
          %18 = arith.maximumf %in, %cst : f32
          linalg.yield %18 : f32
        } -> tensor<?x128xf32>
        iree_codegen.store_to_buffer %17, %11 : tensor<?x128xf32> into memref<?x128xf32, #hal.descriptor_type<storage_buffer>>
        return
      }
      iree_codegen.dispatch_config @dynamic_mlp_dispatch_0_matmul_Dx128x64_f32 {
      ^bb0(%arg0: !hal.device, %arg1: index):
        %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%arg1)
        iree_codegen.yield %x, %y, %z : index, index, index
      }
    }
  }
}
}
