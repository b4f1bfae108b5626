"""Every `lowering_config` advised is one that IREE takes: its own constraints, and its compiler."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from constraints import block_of, broken

from xpu_shark.compiler import stock
from xpu_shark.simulator import target

CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
GFX942 = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")
pytestmark = pytest.mark.slow


def module(m: int, n: int, k: int, element: str, attributes: str = "") -> str:
    a, b, c = f"tensor<{m}x{k}x{element}>", f"tensor<{k}x{n}x{element}>", f"tensor<{m}x{n}xf32>"
    return f"""
func.func @mm(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %0 = linalg.matmul {attributes} ins(%a, %b : {a}, {b}) outs(%init : {c}) -> {c}
  return %0 : {c}
}}"""


def iree_compile(path: Path, *flags: str) -> str:
    command = [str(stock.binary()), str(path), *flags, "-o", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def advised(path: Path, machine: str, *flags: str) -> list[str]:
    """The `lowering_config`s in the findings, without their angle brackets."""
    command = [sys.executable, "-m", "xpu_shark.compiler.main", "simulate", str(path), *flags]
    command += [f"--xpu-target={machine}", "--xpu-effort=high", "--format=jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = map(json.loads, done.stdout.splitlines())
    texts = (row["suggestion"] for row in rows if row["type"] == "finding")
    return [found[1] for text in texts if (found := re.search(r"\((#iree_\w+\.lower.*>)\)", text))]


def pin(ir: str, config: str) -> str:
    """The attribute that gives an op `config`, with the translation that IREE chose itself."""
    how = re.search(r"translation_info = (#iree_codegen\.translation_info<.*>)\} \{", ir)
    assert how
    info = f"lowering_config = {config}, translation_info = {how[1]}"
    return f"{{compilation_info = #iree_codegen.compilation_info<{info}>}}"


@pytest.mark.parametrize(
    ("sizes", "element"),
    [((512, 768, 1024), "f16"), ((2048, 512, 512), "bf16"), ((1024, 1024, 4096), "f16")],
)
def test_tiles_for_matrix_cores_keep_iree_s_constraints_and_compile(
    sizes: tuple[int, int, int], element: str, tmp_path: Path
) -> None:
    path = tmp_path / "mm.mlir"
    path.write_text(module(*sizes, element))
    stop = ("--compile-to=executable-configurations", "--iree-codegen-emit-pipeline-constraints")
    ir = iree_compile(path, *GFX942, *stop)
    how = re.search(r"translation_info = (#iree_codegen\.translation_info<.*>)\} \{", ir)
    assert how
    configs = advised(path, "mi300x", *GFX942)
    assert configs
    for config in configs:
        block = block_of(ir, config, how[1])
        assert block is not None
        assert broken(block, config, how[1]) == []
        # The check can fail: a tile of 48 rows divides none of these sizes.
        worse = re.sub(r"workgroup = \[\d+", "workgroup = [48", config)
        assert any("dim_0 must be divisible" in text for text in broken(block, worse, how[1]))
        path.write_text(module(*sizes, element, pin(ir, config)))
        assert f"lowering_config = {config}" in iree_compile(path, *GFX942, stop[0])
        iree_compile(path, *GFX942, "--compile-to=executable-targets")


@pytest.fixture(params=["waves", "sequential"])
def cpu_target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """`tiny`, with more room, as a machine that IREE's CPU backend programs: four cores or one."""
    tiny = (Path(target.__file__).parent / "targets" / "tiny.toml").read_text()
    tiny = tiny.replace("bytes = 16_384", "bytes = 262_144")  # for tiles of whole reductions
    if request.param == "waves":
        tiny = tiny.replace('execution = "sequential"', 'execution = "waves"')
        tiny = tiny.replace("cores = 1", "cores = 4").replace('"systolic"\n\n', '"spatial"\n\n', 1)
        tiny = tiny.replace("value = 32e9", "value = 128e9")
    path = tmp_path / "cpu.toml"
    path.write_text(tiny + '\n[iree]\nbackends = ["llvm-cpu"]\n')
    return str(path)


@pytest.mark.parametrize("sizes", [(512, 768, 256), (127, 131, 137)])
def test_tiles_for_the_cpu_backend_compile(
    sizes: tuple[int, int, int], cpu_target: str, tmp_path: Path
) -> None:
    path = tmp_path / "mm.mlir"
    path.write_text(module(*sizes, "f32"))
    ir = iree_compile(path, *CPU, "--compile-to=executable-configurations")
    configs = advised(path, cpu_target, *CPU)
    assert configs
    for config in configs:
        path.write_text(module(*sizes, "f32", pin(ir, config)))
        pinned = iree_compile(path, *CPU, "--compile-to=executable-configurations")
        assert f"lowering_config = {config}" in pinned
        iree_compile(path, *CPU, "--compile-to=executable-targets")


def test_the_flag_of_a_split_reduction_forms_the_two_launches_that_were_simulated(
    tmp_path: Path,
) -> None:
    # A row added behind the product: it goes to the launch that adds the 300 parts up.
    text = module(33, 33, 90_000, "f32").replace(
        "return %0", "%1 = linalg.generic {ROW}\n  return %1"
    )
    shape = "tensor<33x33xf32>"
    maps = "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>"
    row = f"""{{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
      ins(%0, %row : {shape}, tensor<33xf32>) outs(%empty : {shape}) {{
  ^bb0(%x: f32, %y: f32, %out: f32):
    %sum = arith.addf %x, %y : f32
    linalg.yield %sum : f32
  }} -> {shape}"""
    path = tmp_path / "split.mlir"
    path.write_text(text.replace("{ROW}", row).replace(") ->", ", %row: tensor<33xf32>) ->", 1))
    command = [sys.executable, "-m", "xpu_shark.compiler.main", "simulate", str(path), *GFX942]
    command += ["--xpu-target=mi300x", "--format=jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    flags = re.findall(r"\((--iree-dispatch-creation-split-matmul-reduction=\d+)\)", done.stdout)
    assert flags == ["--iree-dispatch-creation-split-matmul-reduction=300"]
    ir = iree_compile(path, *GFX942, flags[0], "--compile-to=flow")
    names = re.findall(r"flow\.dispatch @\w+::@(\w+)", ir)
    assert [name.split("_", 3)[3] for name in names] == [
        "matmul_like_300x33x33x300_f32",
        "reduction_33x33x300_f32",
    ]
    assert "arith.addf" in ir[ir.index("reduction_33x33x300") :]
