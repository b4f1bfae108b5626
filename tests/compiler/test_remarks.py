"""Remarks in the log and in LLVM's YAML."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from iree.compiler import ir

from xpu_shark.compiler.remark_sink import Record, RemarkSink, log_line, position
from xpu_shark.passes.remark import Kind, Remark

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
XPU = ("--xpu-target=tiny", "--xpu-passes=test-name-configurations")


def remark(**fields: object) -> Remark:
    given = {"kind": Kind.MISSED, "category": "xpu-shark.tiling", "name": "N", "message": "m"}
    return Remark(**(given | fields))  # type: ignore[arg-type]


def heard(*remarks: Remark, pattern: str = "xpu-shark.*") -> list[Record]:
    with ir.Context() as context:
        sink = RemarkSink(context, pattern, lambda record: None)
        with sink.listening(tell=True):
            for each in remarks:
                each.emit(context)
        return sink.records


def test_a_remark_is_one_readable_line_at_the_users_place() -> None:
    (record,) = heard(remark(location="dir name/model.mlir:41:12", message="tile it"))
    expected = "dir name/model.mlir:41:12: remark: [xpu-shark.tiling] tile it"
    assert log_line(record) == expected


def test_control_characters_cannot_break_the_line() -> None:
    (record,) = heard(remark(message="a\nb\x1b[31m\0é", location="m.mlir:1:1"))
    assert log_line(record) == "m.mlir:1:1: remark: [xpu-shark.tiling] a\\nb\\x1b[31m\\x00é"


def test_a_remark_without_a_place_is_still_a_line() -> None:
    records = heard(remark(), remark(location="no place at all"))
    assert {log_line(record) for record in records} == {"remark: [xpu-shark.tiling] m"}


def test_equal_remarks_are_all_reported() -> None:
    assert len(heard(remark(location="m:1:1"), remark(location="m:1:1"))) == 2


def test_the_filter_is_by_category() -> None:
    both = remark(), remark(category="xpu-shark.memory")
    assert [r.category for r in heard(*both, pattern="xpu-shark.mem.*")] == ["xpu-shark.memory"]
    assert heard(*both, pattern="") == []


def test_emit_tells_whether_anyone_listens() -> None:
    with ir.Context() as context:
        assert remark().emit(context) is False
        with RemarkSink(context, "xpu-shark.*", lambda record: None).listening(tell=False):
            assert remark().emit(context) is True
            assert remark(category="other").emit(context) is False


def test_wrapped_locations_lead_to_a_file() -> None:
    with ir.Context():
        nowhere = ir.Location.unknown()
        a, b = ir.Location.file("a.mlir", 3, 4), ir.Location.file("b.mlir", 5, 6)
        assert position(ir.Location.name("add", a)) == "a.mlir:3:4"
        assert position(ir.Location.callsite(a, [b])) == "a.mlir:3:4"
        assert position(ir.Location.callsite(nowhere, [b])) == "b.mlir:5:6"
        assert position(ir.Location.fused([nowhere, ir.Location.name("x", b), a])) == "b.mlir:5:6"
        assert position(nowhere) == ""


def test_the_yaml_has_what_llvms_tools_read(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    args = (("Dispatch", "d: 'x' \"y\""), ("Speedup", "1.7"), ("Text", "a\nb"))
    with ir.Context() as context:
        sink = RemarkSink(context, "xpu-shark.*", lambda record: None)
        with sink.listening(tell=False):
            remark(name="Tile", function="main", location="m.mlir:41:12", args=args).emit(context)
        sink.write_yaml(str(path))
    assert path.read_text().splitlines() == [
        "--- !Missed",
        "Pass:            xpu-shark.tiling",
        "Name:            Tile",
        "DebugLoc:        { File: m.mlir, Line: 41, Column: 12 }",
        "Function:        main",
        "Args:",
        "  - RemarkId:        '1'",
        "  - Remark:          m",
        "  - Dispatch:        'd: ''x'' \"y\"'",
        "  - Speedup:         '1.7'",
        '  - Text:            "a\\nb"',
        "...",
    ]


def test_log_and_file_both_get_the_remarks(run: Run, matmul: str, tmp_path: Path) -> None:
    output = ["-o", "x.vmfb", "--remarks-output-file=r.yaml"]
    done = run("compile", matmul, *CPU, *output, *XPU)
    assert done.stderr.count(b": remark: [xpu-shark.coverage] ") == 1
    assert (tmp_path / "r.yaml").read_text().count("--- !Analysis") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.yaml", "x.vmfb"]


def test_a_filter_of_the_users_replaces_the_default(run: Run, matmul: str, tmp_path: Path) -> None:
    output = ["-o", "x.vmfb", "--remarks-output-file=r.yaml", "--remarks-filter=nothing"]
    done = run("compile", matmul, *CPU, *output, *XPU)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "r.yaml").read_text() == ""


def test_irees_own_remarks_are_in_the_file_as_from_iree_compile(
    run: Run, iree_compile: Run, matmul: str, tmp_path: Path
) -> None:
    """IREE's GPU configuration reports its use of shared memory."""
    rocm = ["--iree-hal-target-backends=rocm", "--iree-rocm-target=gfx942", "--remarks-filter=.*"]
    sources = ["--xpu-target=tiny", "--xpu-passes=test-name-sources"]
    iree_compile(matmul, *rocm, "-o", "a", "--remarks-output-file=theirs.yaml")
    done = run("compile", matmul, *rocm, "-o", "b", "--remarks-output-file=ours.yaml", *sources)
    theirs, ours = ((tmp_path / f"{name}.yaml").read_text() for name in ("theirs", "ours"))
    assert "SharedMemoryUsage" in theirs
    assert theirs.split("Args:")[0] in ours
    assert re.findall(r"^Pass: +(.*)$", ours, re.M) == ["xpu-shark.coverage", "deduceMMASchedule"]
    assert done.stderr.count(b"remark:") == 1  # the log has ours; iree-compile prints none


ODD = 'q"uote: \\ [a] {b}\n\t\x01 été & *p'


def test_names_and_files_with_odd_characters_stay_whole_in_the_files_and_one_line_in_the_log(
    run: Run, tmp_path: Path
) -> None:
    spelled = ODD.replace("\\", "\\\\").replace('"', "\\22").replace("\n", "\\0A")
    spelled = spelled.replace("\t", "\\09").replace("\x01", "\\01")
    (tmp_path / "odd.mlir").write_text(
        f'func.func @"{spelled}"(%x: tensor<16xf32>) -> tensor<16xf32> {{\n'
        f'  %0 = stablehlo.exponential %x : tensor<16xf32> loc("{spelled}.py":3:4)\n'
        "  return %0 : tensor<16xf32>\n}\n"
    )
    flags = ("--remarks-output-file=r.yaml", "--remarks-filter=xpu-shark.*", "--xpu-effort=low")
    done = run("simulate", "odd.mlir", "--xpu-target=tiny", *flags)
    assert done.returncode == 0, done.stderr
    # Summary, heading, row; and one line a remark.
    assert len(done.stdout.decode().splitlines()) == 3
    assert len(done.stderr.decode().splitlines()) == 2
    # YAML's double-quoted scalars spell the name with the escapes that JSON has, and \xHH.
    text = (tmp_path / "r.yaml").read_text()
    scalars = re.findall(r'(?m)^(?:Function|Name): +"(.*)"$', text)
    plain = [json.loads('"' + re.sub(r"\\x(..)", r"\\u00\1", each) + '"') for each in scalars]
    assert plain == [ODD, ODD, f"{ODD}_dispatch_0_elementwise_16_f32", ODD]
