"""`xpu-shark simulate`: the same compile up to the kernels, and a report instead of a module."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from xpu_shark.compiler import errors, flags, outputs, pass_registry, stock
from xpu_shark.compiler.compile_main import check_regex
from xpu_shark.compiler.errors import USAGE, UsageError
from xpu_shark.compiler.flags import Options
from xpu_shark.compiler.iree_flags import StockOnly, expand_response_files

if TYPE_CHECKING:
    from xpu_shark.compiler.iree_flags import CommandLine
    from xpu_shark.passes.module_pass import Analysis

_FORMATS: Final = ("text", "jsonl")
_LAST_PHASE: Final = "executable-configurations"
_REPORT: Final = "xpu_shark.compiler.report"
_DEVICE_FLAGS: Final = ("iree-hal-target-device", "iree-hal-target-backends", "iree-hal-local")
_DEFAULT_DEVICE: Final = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
)
# A fixed CPU: the same input gives the same report on every machine. A target that is a CPU was
# measured on this one.
_ANY_CPU: Final = "generic"
_THIS_CPU: Final = "host"


def main(argv: Sequence[str]) -> int:
    """Print the report; IREE's exit code for what it refuses, 1 after a fault of ours."""
    ours, theirs = flags.split(expand_response_files(argv))
    layout, theirs = _take_format(theirs)
    options = flags.options(ours)
    pass_registry.check(options.passes)
    asked = any(arg.lstrip("-").startswith(("help", "version", "iree-hal-list")) for arg in theirs)
    if not asked and not any(arg == "-" or not arg.startswith("-") for arg in theirs):
        raise UsageError("simulate needs an input: a .mlir or .xputrace file, or - for stdin")
    if any(arg.endswith(".xputrace") for arg in theirs):
        return _simulate_trace(theirs, options, layout)
    if importlib.util.find_spec(_REPORT) is None:
        raise UsageError("simulate is not available in this version")
    from xpu_shark.compiler.pipeline import repeatable_stdin

    with repeatable_stdin(theirs):
        code = analyse(theirs, options, lambda shared: _report(shared, layout))
    if code is None:
        stock.become(theirs)
    return code


def analyse(args: Sequence[str], options: Options, show: Callable[[Analysis], None]) -> int | None:
    """Compile up to the kernels, run the passes, `show` what they found.

    The exit code, or None where only iree-compile can say what is wrong with `args`.
    """
    try:
        return _run(args, options, show)
    except StockOnly as reason:
        if not str(reason):
            return None
        errors.error(reason)
        return USAGE
    except UsageError:
        raise
    except Exception as problem:  # any defect of ours: one line, never a traceback
        errors.fault("simulation failed", problem)
        return 1


def _run(args: Sequence[str], options: Options, show: Callable[[Analysis], None]) -> int:
    from xpu_shark.compiler import pipeline
    from xpu_shark.compiler.session import CompileSession

    cpu = _ANY_CPU if options.target.core is None else _THIS_CPU
    command = _stop_at_kernels(pipeline.command_line([*args, *default_device(args, cpu)]))
    outputs.check("--remarks-output-file", command.remarks_output_file)
    check_regex(command.remarks_filter)
    shared = pipeline.analysis(options, command.input)
    wanted = pipeline.passes(options, command)  # before standard input is read
    with CompileSession(command) as session:
        steps = pipeline.Pipeline(session, command, default_filter="")
        done = steps.parse() and steps.run(wanted, shared)
        steps.write_remarks()
    if not (done and steps.complete):
        return 1
    show(shared)
    return 0


def _simulate_trace(args: Sequence[str], options: Options, layout: str) -> int:
    """Replay a trace that carries its program."""
    from xpu_shark.compiler import simulate_trace

    if len(args) != 1:
        other = next((arg for arg in args if not arg.endswith(".xputrace")), args[1])
        raise UsageError(f"{other}: a .xputrace is simulated alone, as it was compiled")
    try:
        return simulate_trace.run(args[0], options, layout, sys.stdout)
    except UsageError:
        raise
    except Exception as problem:  # any defect of ours: one line, never a traceback
        errors.fault("simulation failed", problem)
        return 1


def _take_format(args: list[str]) -> tuple[str, list[str]]:
    """The value of --format, `text` if absent, and the other arguments."""
    layout, rest, waiting = "text", [], iter(args)
    for arg in waiting:
        name, equals, value = arg.partition("=")
        if name != "--format":
            rest.append(arg)
            continue
        layout = value if equals else next(waiting, "")
        if layout not in _FORMATS:
            raise UsageError(f"--format={layout}: expected {' or '.join(_FORMATS)}")
    return layout, rest


def _stop_at_kernels(command: CommandLine) -> CommandLine:
    return dataclasses.replace(command, compile_to=_LAST_PHASE, output="-")


def default_device(args: Sequence[str], cpu: str = _ANY_CPU) -> tuple[str, ...]:
    """Flags for the CPU where neither the command line nor the input names a device."""
    if any(arg.lstrip("-").startswith(_DEVICE_FLAGS) for arg in args):
        return ()
    if any(b"hal.device" in text for text in _inputs(args)):
        return ()
    return (*_DEFAULT_DEVICE, f"--iree-llvmcpu-target-cpu={cpu}")


def _inputs(args: Sequence[str]) -> Iterator[bytes]:
    """Contents of the files among `args`; standard input is left where it was."""
    for arg in args:
        if arg == "-":
            start = os.lseek(0, 0, os.SEEK_CUR)
            yield b"".join(iter(lambda: os.read(0, 1 << 20), b""))
            os.lseek(0, start, os.SEEK_SET)
        elif not arg.startswith("-") and Path(arg).is_file():
            yield Path(arg).read_bytes()


def _report(shared: Analysis, layout: str) -> None:
    if shared.report is None:
        return  # --xpu-passes names none that simulates: what they print is what was asked for
    importlib.import_module(_REPORT).write(shared, layout, sys.stdout)
