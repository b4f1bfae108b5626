// RUN: xpu-shark-opt %s --passes=xpu-find-pins,xpu-print-workload --no-print | FileCheck %s
// RUN: xpu-shark-opt %s --passes=xpu-print-workload --no-print | FileCheck %s --check-prefix=ALONE

// Kernels with tile sizes in the IR are the user's to tile; without the pass nobody can tell.
// CHECK: kernel @pinned
// CHECK: tile distribution [4, 0] pinned
// ALONE: kernel @pinned
// ALONE: tile distribution [4, 0]
// ALONE-NOT: pinned
// Kernels without stay as they are, and so does an executable that comes compiled.
// CHECK: kernel @free
// CHECK-NOT: tile
// CHECK: kernel @compiled: unmodelled

#layout = #hal.pipeline.layout<bindings = [
  #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>
#config = #iree_cpu.lowering_config<distribution = [4, 0]>

module {
  hal.executable private @ex {
    hal.executable.variant public @elf target(<"llvm-cpu", "embedded-elf-x86_64">) {
      hal.executable.export public @pinned ordinal(0) layout(#layout)
      hal.executable.export public @free ordinal(1) layout(#layout)
      hal.executable.export public @compiled ordinal(2) layout(#layout)
      builtin.module {
        func.func @pinned() {
          %c0 = arith.constant 0 : index
          %0 = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0)
            : !iree_tensor_ext.dispatch.tensor<readonly:tensor<8x16xf32>>
          %1 = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0)
            : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8x16xf32>>
          %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [8, 16], strides = [1, 1]
            : !iree_tensor_ext.dispatch.tensor<readonly:tensor<8x16xf32>> -> tensor<8x16xf32>
          %3 = tensor.empty() : tensor<8x16xf32>
          %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
            ins(%2 : tensor<8x16xf32>) outs(%3 : tensor<8x16xf32>) attrs = {lowering_config = #config} {
          ^bb0(%in: f32, %out: f32):
            %5 = math.exp %in : f32
            linalg.yield %5 : f32
          } -> tensor<8x16xf32>
          iree_tensor_ext.dispatch.tensor.store %4, %1, offsets = [0, 0], sizes = [8, 16], strides = [1, 1]
            : tensor<8x16xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8x16xf32>>
          return
        }
        func.func @free() {
          %c0 = arith.constant 0 : index
          %0 = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0)
            : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xf32>>
          %1 = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0)
            : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>>
          %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0], sizes = [4], strides = [1]
            : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xf32>> -> tensor<4xf32>
          %3 = tensor.empty() : tensor<4xf32>
          %4 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
            ins(%2 : tensor<4xf32>) outs(%3 : tensor<4xf32>) {
          ^bb0(%in: f32, %out: f32):
            %5 = math.exp %in : f32
            linalg.yield %5 : f32
          } -> tensor<4xf32>
          iree_tensor_ext.dispatch.tensor.store %4, %1, offsets = [0], sizes = [4], strides = [1]
            : tensor<4xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>>
          return
        }
      }
    }
  }
}
