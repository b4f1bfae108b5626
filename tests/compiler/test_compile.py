"""`xpu-shark compile` next to iree-compile: the same bytes, messages and exit codes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Done = subprocess.CompletedProcess[bytes]
Run = Callable[..., Done]
INPUTS = Path(__file__).parents[1] / "inputs"
CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
TINY = "--xpu-target=tiny"
ALL = "--xpu-passes=test-name-flow,test-name-sources,test-name-configurations"
REMARK = b": remark: [xpu-shark."


def without_remarks(stderr: bytes) -> bytes:
    return b"".join(line for line in stderr.splitlines(True) if REMARK not in line)


def same(
    ours: subprocess.CompletedProcess[bytes], plain: subprocess.CompletedProcess[bytes]
) -> None:
    assert ours.returncode == plain.returncode
    assert ours.stdout == plain.stdout
    assert without_remarks(ours.stderr) == plain.stderr


@pytest.mark.parametrize(
    "flags",
    [
        "matmul.mlir @cpu",
        "dynamic_rows.mlir @cpu --iree-opt-level O2",
        "stablehlo_softmax.mlir @cpu --iree-llvmcpu-debug-symbols=false",
        "matmul.mlir --iree-hal-target-backends=vmvx --iree-hal-target-backends=llvm-cpu",
        "matmul.mlir --iree-hal-target-backends=rocm --iree-rocm-target=gfx942",
        "matmul.mlir @cpu -o -",
        "- @cpu",
        "matmul.mlir @cpu --output-format=vm-asm",
        "matmul.mlir @cpu --compile-to executable-configurations --mlir-print-debuginfo",
        "matmul.mlir @cpu --verify=false --iree-vm-bytecode-module-output-format=flatbuffer-text",
        "--mlir-disable-threading matmul.mlir @cpu --iree-scheduling-dump-statistics-format=pretty",
    ],
)
def test_output_and_messages_are_those_of_iree_compile(
    run: Run, iree_compile: Run, flags: str
) -> None:
    args = arguments(flags)
    source = (INPUTS / "matmul.mlir").read_bytes()
    ours = run("compile", *args, TINY, ALL, stdin=source)
    same(ours, iree_compile(*args, stdin=source))
    assert ours.returncode == 0
    assert REMARK in ours.stderr or "matmul" not in flags


@pytest.mark.parametrize(
    "flags",
    [
        "--version",
        "matmul.mlir --iree-hal-list-target-backends",
        "matmul.mlir matmul.mlir @cpu",
        "@cpu",
        "matmul.mlir --iree-no-such-flag",
        "matmul.mlir --compile-too=flow",
        "matmul.mlir --compile-to=nowhere",
        "matmul.mlir @cpu --iree-opt-level=O9",
        "matmul.mlir",
        "- @cpu",
    ],
)
def test_help_and_failures_are_iree_compiles_own(run: Run, iree_compile: Run, flags: str) -> None:
    args = arguments(flags)
    bad = b"func.func @f() { foo }"
    same(run("compile", *args, TINY, ALL, stdin=bad), iree_compile(*args, stdin=bad))


def test_without_our_flags_it_is_iree_compile(run: Run, iree_compile: Run, matmul: str) -> None:
    for args in ([matmul, *CPU], [matmul, *CPU, "--remarks-filter=.*"], ["--help"], [], ["nope"]):
        ours, plain = run("compile", *args), iree_compile(*args)
        assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout)
        assert ours.stderr == plain.stderr


def test_passes_see_the_ir_of_their_phase(run: Run, matmul: str) -> None:
    done = run("compile", matmul, *CPU, "-o", "x.vmfb", TINY, ALL)
    place = f"{matmul}:5:8: remark: [xpu-shark.coverage]"
    assert done.stderr.decode().splitlines() == [
        f"{place} flow sees flow.dispatch",
        f"{place} executable-sources sees linalg.matmul, tiled: False",
        f"{place} executable-configurations sees linalg.matmul, tiled: True",
    ]


def test_bytecode_and_later_phases_are_inputs_too(
    run: Run, iree_compile: Run, matmul: str, tmp_path: Path
) -> None:
    iree_compile(matmul, *CPU, "--compile-to=input", "--emit-mlir-bytecode", "-o", "a.mlirbc")
    same(run("compile", "a.mlirbc", *CPU, TINY, ALL), iree_compile("a.mlirbc", *CPU))
    phase = "executable-configurations"
    iree_compile(matmul, *CPU, f"--compile-to={phase}", "--mlir-print-debuginfo", "-o", "c.mlir")
    args = ["c.mlir", *CPU, f"--compile-from={phase}"]
    ours = run("compile", *args, TINY, "--xpu-passes=test-name-configurations")
    same(ours, iree_compile(*args))
    assert ours.stderr.count(REMARK) == 1


def test_phases_that_a_command_leaves_out_are_said_once(
    run: Run, iree_compile: Run, matmul: str
) -> None:
    args = [matmul, *CPU, "--compile-to=flow"]
    ours = run("compile", *args, TINY, ALL)
    assert ours.stdout == iree_compile(*args).stdout
    assert ours.stderr.count(REMARK) == 1
    assert without_remarks(ours.stderr) == (
        b"xpu-shark: warning: analysis skipped at executable-sources, executable-configurations: "
        b"--compile-to=flow leaves it out\n"
    )


def test_a_mode_without_phases_is_compiled_and_said(
    run: Run, iree_compile: Run, matmul: str
) -> None:
    args = [matmul, *CPU, "--compile-mode=precompile"]
    ours = run("compile", *args, TINY, ALL)
    assert ours.stdout == iree_compile(*args).stdout
    assert ours.stderr == (
        b"xpu-shark: warning: analysis skipped: --compile-mode=precompile has no phases\n"
    )


def test_phase_dumps_are_those_of_an_unbroken_compile(
    run: Run, iree_compile: Run, matmul: str, tmp_path: Path
) -> None:
    run("compile", matmul, *CPU, "-o", "a", "--dump-compilation-phases-to=ours", TINY, ALL)
    iree_compile(matmul, *CPU, "-o", "b", "--dump-compilation-phases-to=theirs")
    ours, theirs = ({f.name: f.read_text() for f in (tmp_path / d).iterdir()} for d in NAMES)
    assert ours == theirs
    assert len(ours) == 12


def test_flags_in_a_response_file_count(run: Run, iree_compile: Run, tmp_path: Path) -> None:
    flags = " ".join([str(INPUTS / "matmul.mlir"), *CPU])
    (tmp_path / "ours.txt").write_text(f"{flags} {TINY} {ALL}")
    (tmp_path / "theirs.txt").write_text(flags)
    ours = run("compile", "@ours.txt")
    same(ours, iree_compile("@theirs.txt"))
    assert ours.stderr.count(REMARK) == 3


@pytest.mark.parametrize(
    ("passes", "fault"),
    [
        ("test-erase", ""),
        ("test-keep-references", ""),
        (
            "test-erase-and-fail",
            "pass test-erase-and-fail failed, the build goes on without it: "
            "ValueError: two\\nlines at plugin_passes.py:",
        ),
        (
            "test-no-import",
            "analysis failed, compiling without it: ModuleNotFoundError: "
            "No module named 'plugin_passes_that_do_not_exist'",
        ),
    ],
)
def test_a_pass_at_fault_leaves_the_stock_result(
    run: Run, iree_compile: Run, passes: str, fault: str
) -> None:
    """Through a pipe, so that a compile that starts over needs its input once more."""
    source = (INPUTS / "matmul.mlir").read_bytes()
    ours = run("compile", "-", *CPU, TINY, f"--xpu-passes={passes}", stdin=source)
    plain = iree_compile("-", *CPU, stdin=source)
    assert (ours.returncode, ours.stdout) == (0, plain.stdout)
    assert ours.stderr.decode().startswith(f"xpu-shark: warning: {fault}" if fault else "")
    assert ours.stderr.count(b"\n") == (1 if fault else 0)
    assert (b"(please report)" in ours.stderr) == bool(fault)


def test_a_pass_that_changes_the_module_changes_the_result(run: Run, matmul: str) -> None:
    done = run("compile", matmul, *CPU, TINY, "--xpu-passes=test-rename")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"renamed_by_a_pass" in done.stdout


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--xpu-targt=tiny", "unknown flag --xpu-targt, did you mean --xpu-target?"),
        ("--xpu-target=tinny", "unknown target 'tinny', did you mean 'tiny'?"),
        ("--xpu-devices=2", "--xpu-target=NAME|FILE.toml is missing"),
        ("--xpu-target=tiny --xpu-passes=test-name-flo", "did you mean 'test-name-flow'?"),
        ("--xpu-target=tiny -o no/x.vmfb", "-o no/x.vmfb: folder 'no' does not exist"),
        ("--xpu-target=tiny -o .", "-o .: is a folder"),
        ("--xpu-target=tiny --remarks-output-file=no/r.yaml", "folder 'no' does not exist"),
        ("--xpu-target=tiny --remarks-filter=(", "--remarks-filter=(: not a regex"),
    ],
)
def test_a_bad_argument_is_one_line_before_anything_is_written(
    run: Run, matmul: str, tmp_path: Path, flags: str, message: str
) -> None:
    done = run("compile", matmul, *CPU, "-o", "x.vmfb", *flags.split())
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_failed_compile_leaves_no_output(run: Run, tmp_path: Path) -> None:
    assert run("compile", "-", *CPU, "-o", "x.vmfb", TINY, ALL, stdin=b"foo").returncode == 1
    assert list(tmp_path.iterdir()) == []


NAMES = ("ours", "theirs")


def arguments(flags: str) -> list[str]:
    """`flags` split, `@cpu` spelled out, test inputs with their folder."""
    args: list[str] = []
    for flag in flags.split():
        if flag == "@cpu":
            args += CPU
        else:
            args.append(str(INPUTS / flag) if flag.endswith(".mlir") else flag)
    return args
