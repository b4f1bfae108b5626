// RUN: xpu-shark-opt %s --passes=xpu-report-limits --xpu-target=tiny --no-print 2>&1 | FileCheck %s
// RUN: xpu-shark-opt %s --passes=xpu-report-limits --xpu-target=xdna2 --no-print 2>&1 | FileCheck %s --check-prefix=ALONE

// What the host program launches and sends. A collective has a time on a target with a network.
// CHECK: remark: [xpu-shark.summary] main on tiny takes
// CHECK-SAME: 0 modelled, 1 not (outside: the module does not define it); {{.*}} of it is 1 command of the host (all_reduce)
// CHECK: remark: [xpu-shark.coverage] outside: not modelled, the module does not define it; it has no time
// CHECK: remark: [xpu-shark.collective] all_reduce of 32 B f32 over 2 devices{{.*}} on tiny takes {{.*}} exposed, 0 ps hidden
// On one without, it is said and has none; what has no time at all is not shown as 0.
// ALONE: remark: [xpu-shark.summary] main on xdna2: no time for 1 dispatch
// ALONE: remark: [xpu-shark.coverage] all_reduce of 32 B f32 over 2 devices{{.*}}: not simulated, target xdna2 describes no network

// CHECK: remark: [xpu-shark.summary] idle: no dispatch found, nothing to simulate

module {
  stream.cmd.func private @outside(%0[%1 for %2]: !stream.resource<*>)

  util.func public @main(%r: !stream.resource<transient>) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c512 = arith.constant 512 : index
    %channel = stream.channel.create rank(%c0) count(%c2) : !stream.channel
    stream.cmd.execute with(%r as %p: !stream.resource<transient>{%c512}) {
      stream.cmd.call @outside(rw %p[%c0 for %c32]) : (!stream.resource<transient>{%c512}) -> ()
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
