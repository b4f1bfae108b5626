#!/usr/bin/env bash
# Compiles the transformer block of this folder and shows what xpu-shark says about it.
# Usage: examples/demo.sh [FOLDER OF xpu-shark, such as .venv/bin]
set -euo pipefail
cd "$(dirname "$0")/.."
shark=${1:+$1/}xpu-shark
model=examples/transformer_block.mlir
target=tpu_v6e
out=build/demo.vmfb
log=build/demo.log

flags=(--iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu
  --iree-llvmcpu-target-cpu=generic --xpu-target=$target --xpu-effort=high)

# Continuation lines are indented, so that each remark's place stands out.
wrap() {
  while IFS= read -r line; do
    printf '%s\n' "$line" | fold -s -w 96 | sed 's/ *$//; 2,$s/^/    /'
  done
}

mkdir -p build
echo "Compiling $model (one transformer block, 128 tokens, bf16) for this CPU,"
echo "and asking what would limit it on the accelerator $target, and what would be faster there:"
echo
printf '  %s' "xpu-shark compile $model -o $out"
printf ' \\\n    %s' "${flags[@]}"
echo
echo
echo "The build log: a remark for each distinct dispatch, longest total time first, then advice:"
echo
"$shark" compile "$model" -o "$out" "${flags[@]}" 2>&1 | tee "$log" | wrap
echo
sed -n 's/.*\[xpu-shark.summary\] /In short: /p' "$log" | wrap
echo "The module is $out, byte for byte what iree-compile writes. The log is $log."
echo
echo "The same as a table, for another target:"
echo "  $shark simulate $model --xpu-target=h100"
echo "What the numbers mean and how far to trust them: README.md. Other targets: $shark targets"
