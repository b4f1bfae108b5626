// RUN: xpu-shark-opt %s --passes=xpu-hide-probes | FileCheck %s

#layout = #hal.pipeline.layout<constants = 2, bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// The probe goes, with the ring and the site number that only it reads; the rest stays.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: () {
// CHECK-NOT: instrument
// CHECK: hal.interface.constant.load {{.*}} ordinal(1)
// CHECK-NEXT: hal.interface.binding.subspan {{.*}} binding(1)
// CHECK-NOT: hal.
// CHECK: return
func.func @kernel() attributes {xpu.plan = "{\22name\22:\22kernel\22}"} {
  %c0 = arith.constant 0 : index
  %site = hal.interface.constant.load layout(#layout) ordinal(0) : i32
  %size = hal.interface.constant.load layout(#layout) ordinal(1) : i32
  %ring = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<1052672xi8>
  %same = memref.assume_alignment %ring, 64 : memref<1052672xi8>
  %key = hal.instrument.workgroup[%same : memref<1052672xi8>] dispatch(%site) : index
  %data = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<4xi32>
  memref.store %size, %data[%c0] : memref<4xi32>
  return
}

// A probe whose key another op takes is not one that IREE made: it stays.
// CHECK-LABEL: func.func @taken
// CHECK: hal.instrument.workgroup
func.func @taken() {
  %c0 = arith.constant 0 : index
  %site = hal.interface.constant.load layout(#layout) ordinal(0) : i32
  %ring = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<1052672xi8>
  %key = hal.instrument.workgroup[%ring : memref<1052672xi8>] dispatch(%site) : index
  %0 = hal.instrument.value[%ring : memref<1052672xi8> for %key] 1 : i8 = %site : i32
  return
}

// CHECK-NOT: @__query_instruments
util.func public @__query_instruments(%list: !util.list<?>) {
  util.return
}
