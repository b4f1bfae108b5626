"""`xpu-shark calibrate`: measures this machine through IREE and writes a target file."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from xpu_shark.compiler import errors, outputs
from xpu_shark.compiler.errors import UsageError


def main(argv: Sequence[str]) -> int:
    """Write the target file; 1 where the machine is too noisy or IREE fails."""
    args = _parse(argv)
    outputs.check("-o", args.output)
    from xpu_shark.compiler.trace.problem import TraceError

    try:
        text = _calibrate()
    except TraceError as problem:
        errors.error(problem)
        return 1
    try:
        outputs.replace(args.output, lambda path: _write(path, text))
    except OSError as problem:
        errors.error(f"-o {args.output}: cannot be written: {problem.strerror}")
        return 1
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"calibrate: {message}")


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="xpu-shark calibrate", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "-o", dest="output", required=True, metavar="host.toml", help="- for stdout"
    )
    return parser.parse_args(argv)


def _calibrate() -> str:
    """The file's text. Raises `UsageError` or `TraceError`."""
    from xpu_shark.compiler.calibrate import fit, measure, suite, target_text
    from xpu_shark.compiler.calibrate import machine as machines

    machine = machines.read()
    kernels = suite.suite(machine)
    with tempfile.TemporaryDirectory(prefix="xpu-shark-") as folder:
        module = Path(folder, "kernels.vmfb")
        measure.build(kernels, module)
        times = measure.measure_all(kernels, measure.recorder(module))
    tables = fit.fit(machine, times)
    fit.check(tables)
    return target_text.text(machine, tables, times, version("iree-base-compiler"))


def _write(path: str, text: str) -> None:
    if path == "-":
        print(text, end="")
    else:
        Path(path).write_text(text)
