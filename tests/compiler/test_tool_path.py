"""`xpu-shark tool-path`: IREE's own tools pick up our compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from xpu_shark.compiler import tool_path

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
CPU = "--iree-llvmcpu-target-cpu=generic"
XPU = ("--xpu-target=tiny", "--xpu-passes=test-name-flow")


def test_the_stock_command_takes_our_flags(run: Run, matmul: str, iree_compile: Run) -> None:
    folder = run("tool-path").stdout.decode().strip()
    backend = "--iree-hal-target-backends=llvm-cpu"
    wrapped = Path(folder) / "iree-compile"
    assert os.access(wrapped, os.X_OK)
    script = "from iree.compiler.tools.scripts.iree_compile.__main__ import main as m; exit(m())"
    args = [matmul, backend, CPU, *XPU]
    environment = {**os.environ, "IREE_TOOL_PATH": folder, "PYTHONPATH": plugin()}
    ours = subprocess.run(
        [sys.executable, "-c", script, *args], env=environment, capture_output=True, check=False
    )
    assert b"remark: [xpu-shark.coverage] flow sees flow.dispatch" in ours.stderr
    assert ours.stdout == iree_compile(matmul, backend, CPU).stdout


def test_compile_str_and_its_errors_work(
    run: Run, matmul: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from iree.compiler import tools

    monkeypatch.setenv("PYTHONPATH", plugin())
    text = Path(matmul).read_text()
    plain = tools.compile_str(text, target_backends=["llvm-cpu"], extra_args=[CPU])
    monkeypatch.setenv("IREE_TOOL_PATH", run("tool-path").stdout.decode().strip())
    ours = tools.compile_str(text, target_backends=["llvm-cpu"], extra_args=[CPU, *XPU])
    assert ours == plain
    with pytest.raises(tools.CompilerToolError, match="custom op 'bad' is unknown"):
        tools.compile_str("bad", target_backends=["llvm-cpu"], extra_args=[*XPU])


def test_without_our_flags_the_wrapper_is_iree_compile(run: Run, tmp_path: Path) -> None:
    wrapper = run("tool-path").stdout.decode().strip() + "/iree-compile"
    (tmp_path / "iree").mkdir()  # a folder of the caller's that must not shadow IREE
    (tmp_path / "iree" / "__init__.py").write_text("raise SystemExit('wrong iree')")
    version = subprocess.run(
        [wrapper, "--version"],
        cwd=tmp_path,
        env={"IREE_TOOL_PATH": str(Path(wrapper).parent)},
        capture_output=True,
        check=False,
    )
    assert version.returncode == 0
    assert b"IREE compiler version" in version.stdout


def test_a_read_only_environment_uses_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "prefix"
    blocked.write_text("a file, so no folder can be made in it")
    monkeypatch.setattr(sys, "prefix", str(blocked))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tool_path.folder()
    assert folder.parent == tmp_path / "cache" / "xpu-shark"
    assert (folder / "iree-compile").read_text() == tool_path.script()


def plugin() -> str:
    return str(Path(__file__).parents[1] / "inputs" / "plugin")
