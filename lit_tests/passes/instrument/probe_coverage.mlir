// RUN: xpu-shark-opt %s --passes=xpu-probe-coverage --split-input-file --no-print --verify-diagnostics

// Only llvm-cpu takes probes; every other backend is named once, however many executables it has.
// expected-remark @below {{[xpu-shark.coverage] cuda: this backend takes no probes: record profile and replay of the module instead}}
// expected-remark @below {{[xpu-shark.coverage] vmvx: this backend takes no probes: record profile and replay of the module instead}}
module {
  hal.executable private @a {
    hal.executable.variant public @x target(<"cuda", "cuda-nvptx-fb">) {
    }
    hal.executable.variant public @y target(<"llvm-cpu", "embedded-elf-x86_64">) {
    }
  }
  hal.executable private @b {
    hal.executable.variant public @x target(<"cuda", "cuda-nvptx-fb">) {
    }
    hal.executable.variant public @z target(<"vmvx", "vmvx-bytecode-fb">) {
    }
  }
}

// -----

// Nothing to say.
module {
  hal.executable private @c {
    hal.executable.variant public @y target(<"llvm-cpu", "embedded-elf-x86_64">) {
    }
  }
}
