// RUN: xpu-shark-opt %s --passes=xpu-report-limits --xpu-target=tiny --no-print 2>&1 | FileCheck %s
// RUN: xpu-shark-opt %s --passes=xpu-report-limits --xpu-target=tiny --xpu-slow-link=1-2:0.5 --no-print 2>&1 | FileCheck %s --check-prefix=SLOW
// RUN: xpu-shark-opt %s --passes=xpu-report-limits --xpu-target=tiny --xpu-slow-link=0-2:0.5 --no-print 2>&1 | FileCheck %s --check-prefix=APART
// RUN: xpu-shark-opt %s --passes=xpu-report-limits --xpu-target=tiny --xpu-devices=3 --no-print 2>&1 | FileCheck %s --check-prefix=FEW

// Devices 0 and 2, 1 and 3 of a ring of four: messages of 2000 bytes go over two links, 2 us each, and every link is on the
// way of two messages: 4 us and a little. At half the rate of the link from 1 to 2 its two take 8 us.
// CHECK: all_gather of 4000 B f32 over 2 devices ({{.*}}) on tiny takes 4.{{.*}} us, bound 1 us
// SLOW: all_gather of 4000 B f32 over 2 devices ({{.*}}) on tiny takes 8.{{.*}} us, bound 1 us
// APART: all_gather of 4000 B f32 over 2 devices: not simulated, slow link 0-2:0.5: no link joins devices 0 and 2 alone; name neighbours, or one device as 0:0.5
// FEW: not simulated, group [1, 3] names device 3, but the devices are 0 to 2: give --xpu-devices=4 or more

util.func public @main(%r: !stream.resource<transient>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant -1 : index
  %c500 = arith.constant 500 : index
  %c2000 = arith.constant 2000 : index
  %c4000 = arith.constant 4000 : index
  %all = stream.channel.create : !stream.channel
  %rank = stream.channel.rank %all : index
  %color = util.switch index from [%c0, %c1, %c0, %c1] at %rank else %none : index
  %channel = stream.channel.split %all, %color, %rank : !stream.channel -> !stream.channel
  stream.cmd.execute with(%r as %p: !stream.resource<transient>{%c4000}) {
    stream.cmd.collective<all_gather : f32>[%c500] channel(%channel) {
      ro %p[%c0 for %c2000] : !stream.resource<transient>{%c4000},
      wo %p[%c0 for %c4000] : !stream.resource<transient>{%c4000}
    }
  } => !stream.timepoint
  util.return
}
