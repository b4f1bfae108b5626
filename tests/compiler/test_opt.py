"""`xpu-shark-opt`: passes over a file, with the user's lines in everything it says."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
TWO = """func.func @one(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  {first}
  %0 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>)
    outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
// -----
func.func @two(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  {second}
  %unused = arith.constant 1.0 : f32
  %0 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>)
    outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
"""
PASS = "--passes=test-name-configurations"
SAID = "executable-configurations sees linalg.matmul, tiled: False"


def two(first: str = "// nothing", second: str = "// nothing") -> bytes:
    return TWO.replace("{first}", first).replace("{second}", second).encode()


def test_remarks_of_each_part_have_the_line_in_the_file(opt: Run, tmp_path: Path) -> None:
    (tmp_path / "two.mlir").write_bytes(two())
    done = opt("two.mlir", PASS, "--split-input-file", "--no-print")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode().splitlines() == [
        f"two.mlir:3:8: remark: [xpu-shark.coverage] {SAID}",
        f"two.mlir:11:8: remark: [xpu-shark.coverage] {SAID}",
    ]


def test_the_ir_is_printed_part_by_part_after_all_passes(opt: Run) -> None:
    done = opt("-", f"{PASS},func.func(canonicalize)", "--split-input-file", stdin=two())
    first, second = done.stdout.decode().split("// -----\n")
    assert "@one" in first
    assert "@two" in second
    assert "arith.constant" not in second  # MLIR's pass ran too
    assert done.stderr.startswith(b"<stdin>:3:8: remark: ")


def test_debug_info_is_printed_when_asked_for(opt: Run, matmul: str) -> None:
    assert b"loc(" not in opt(matmul).stdout
    assert f'loc("{matmul}":'.encode() in opt(matmul, "--mlir-print-debuginfo").stdout


def test_the_remarks_filter_chooses_categories(opt: Run, matmul: str) -> None:
    hidden = opt(matmul, PASS, "--no-print", "--remarks-filter=xpu-shark.tiling")
    assert (hidden.returncode, hidden.stderr) == (0, b"")


def test_options_reach_the_pass(opt: Run, matmul: str) -> None:
    options = "--xpu-target=tpu_v4 --xpu-tiling=best --xpu-dim=n=5 --xpu-devices=3 --xpu-fold=off"
    done = opt(matmul, "--passes=test-name-options", "--no-print", *options.split())
    assert done.stderr == b"f.mlir:3:4: remark: [xpu-shark.coverage] tpu_v4 best 3 False [n=5]\n"


def test_verify_diagnostics_accepts_what_is_expected(opt: Run) -> None:
    source = two(
        "// expected-remark @+1 {{sees linalg.matmul}}",
        "// expected-remark-re @+2 {{tiled: {{F[a-z]+}}}}",
    )
    done = opt("-", PASS, "--split-input-file", "--verify-diagnostics", "--no-print", stdin=source)
    assert (done.returncode, done.stderr) == (0, b"")


def test_verify_diagnostics_lists_what_is_missing_and_unexpected(opt: Run) -> None:
    source = two("// expected-error @+1 {{sees}}")
    done = opt("-", PASS, "--split-input-file", "--verify-diagnostics", "--no-print", stdin=source)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == [
        f"unexpected: <stdin>:3:8: remark: [xpu-shark.coverage] {SAID}",
        'missing: <stdin>:3: error "sees"',
        f"unexpected: <stdin>:11:8: remark: [xpu-shark.coverage] {SAID}",
    ]


def test_errors_of_parser_verifier_and_mlirs_passes_can_be_expected(opt: Run) -> None:
    source = b"""// expected-error @below {{custom op 'foo' is unknown}}
foo
// -----
func.func @f(%x: i32) {
  // expected-error @below {{must be floating-point-like}}
  %0 = arith.addf %x, %x : i32
  return
}
// -----
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{illegal op still exists}}
  %0 = stablehlo.custom_call @foo(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// expected-error @unknown {{illegal operations still remain}}
"""
    passes = "--passes=iree-verify-input-legality"
    done = opt("-", passes, "--split-input-file", "--verify-diagnostics", stdin=source)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_error_in_the_input_is_shown_and_is_exit_code_1(opt: Run) -> None:
    done = opt("-", stdin=b"\n  foo")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"<stdin>:2:3: error: custom op 'foo' is unknown")


def test_an_exception_in_a_pass_is_one_line(opt: Run, matmul: str) -> None:
    done = opt(matmul, "--passes=test-erase-and-fail")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"xpu-shark: error: pass test-erase-and-fail: ValueError: two\\nlines\n"
    assert b"Traceback" in opt(matmul, "--passes=test-erase-and-fail", "--traceback").stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["missing.mlir"], "missing.mlir: No such file or directory"),
        (["-", "--passes=test-name-flo"], "did you mean 'test-name-flow'?"),
        (["-", "--passes=cse{"], "nor MLIR's: missing closing '}'"),
        (["-", "--no-such-flag"], "unrecognized arguments: --no-such-flag"),
        (["-", "--xpu-target=nope"], "unknown target 'nope'"),
        ([], "the following arguments are required: IN.mlir"),
    ],
)
def test_a_bad_argument_is_one_line(opt: Run, args: list[str], message: str) -> None:
    done = opt(*args)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
