"""`xpu-shark record`: runs a module and writes what it did, or imports what a run left."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NoReturn

from xpu_shark.compiler import errors, outputs
from xpu_shark.compiler.errors import UsageError
from xpu_shark.compiler.read_plan import read_plan
from xpu_shark.compiler.trace import capture, module_functions, readers, signature, trace_file
from xpu_shark.compiler.trace.merge import named
from xpu_shark.compiler.trace.model import SETUP, Loss, Trace
from xpu_shark.compiler.trace.problem import TraceError
from xpu_shark.passes.instrument.expression import PlanError
from xpu_shark.passes.instrument.plan import Plan

_SAMPLE = re.compile(r"1/([1-9]\d*)")
_COMPILE: Final = "--iree-"  # flags of the compiler start with this, those of the runner do not


def main(argv: Sequence[str]) -> int:
    """Write the trace; 1 where the run fails or nothing clean is left."""
    args, others = _parse(argv)
    outputs.check("-o", args.output)
    compile_flags = [flag for flag in others if flag.startswith(_COMPILE)]
    runner_flags = [flag for flag in others if not flag.startswith(_COMPILE)]
    _check(args, compile_flags, runner_flags)
    try:
        trace = _import(args) if args.files else _run(args, runner_flags)
        trace = _sampled(trace, args.sample)
        if args.contended == "refuse":
            _refuse(trace, args.vmfb)
        if args.module:
            from xpu_shark.compiler.trace import program

            trace = program.attach(trace, args.module, compile_flags)
        trace_file.write(args.output, trace)
    except TraceError as problem:
        errors.error(problem)
        return 1
    except OSError as problem:
        errors.error(f"-o {args.output}: cannot be written: {problem.strerror}")
        return 1
    _tell(trace, args.output)
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"record: {message}")


def _parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = _Parser(prog="xpu-shark record", description=__doc__, allow_abbrev=False)
    parser.add_argument("vmfb", nargs="?", help="module to run")
    parser.add_argument("-o", dest="output", required=True, metavar="T.xputrace")
    parser.add_argument(
        "--from",
        dest="files",
        action="append",
        default=[],
        metavar="FILE",
        help="instead of a run: a .ireereplay, .ireeprof, instrument dump or .xputrace; repeatable",
    )
    parser.add_argument(
        "--plan", default="", metavar="OUT.vmfb", help="with --from: module that a dump is of"
    )
    parser.add_argument("--function", default="", help="to call")
    parser.add_argument("--input", action="append", default=[], help="as iree-run-module takes it")
    parser.add_argument("--device", action="append", default=[], help="default: local-task")
    parser.add_argument("--warmup", type=_count(0), default=0, help="calls that do not count")
    parser.add_argument("--iterations", type=_count(1), default=1, help="calls to record")
    parser.add_argument("--sample", type=_sample, default=1, help="1/N keeps every N-th call")
    parser.add_argument("--module", default="", metavar="IN.mlir", help="IR to put into the trace")
    parser.add_argument("--target", default="", help="name of the target that the device is")
    parser.add_argument(
        "--contended",
        choices=("refuse", "keep"),
        default="refuse",
        help="where every call was disturbed: write nothing, or all but the times",
    )
    return parser.parse_known_args(argv)


def _count(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}: {text}")
        return int(text)

    return parse


def _sample(text: str) -> int:
    if match := _SAMPLE.fullmatch(text):
        return int(match[1])
    raise argparse.ArgumentTypeError(f"expected 1/N such as 1/10: {text}")


def _check(args: argparse.Namespace, compiling: list[str], running: list[str]) -> None:
    """Raises `UsageError` for arguments that do not go together."""
    if bool(args.vmfb) == bool(args.files):
        raise UsageError("record: expected either a module to run or --from=FILE")
    if args.files and (running or args.input or args.device):
        other = next(iter(running), "--input and --device")
        raise UsageError(f"record --from: {other} is for running a module; leave it out")
    if args.plan and not args.files:
        raise UsageError("record: --plan=OUT.vmfb is for --from; a module that is run has its own")
    if stray := [each for each in running if not each.startswith("--")]:
        raise UsageError(f"record: {stray[0]}: expected one module")
    if compiling and not args.module:
        raise UsageError(f"record: {compiling[0]} needs --module=IN.mlir, which it compiles")
    for path in filter(None, [args.vmfb, args.module, args.plan]):
        if not Path(path).is_file():
            raise UsageError(f"record: no file {path!r}")


def _run(args: argparse.Namespace, runner_flags: list[str]) -> Trace:
    functions = module_functions.read(args.vmfb)
    function = functions.pick(args.function)
    types = functions.types[function]
    signature.check(function, types, args.input)
    if None in types:
        errors.warning(f"{args.vmfb}: {signature.untold(function, types)}")
    run = capture.Run(
        module=args.vmfb,
        function=function,
        inputs=tuple(args.input),
        devices=tuple(args.device) or ("local-task",),
        warmup=args.warmup,
        iterations=args.iterations,
        extra=tuple(runner_flags),
        instrumented=functions.instrumented,
        plan=_plan(args.vmfb),
    )
    return capture.capture(run, args.target)


def _import(args: argparse.Namespace) -> Trace:
    """Files of one run or several; calls are named by --function, or after their exports."""
    trace = readers.read_all(args.files, _plan(args.plan) if args.plan else None)
    target = args.target or trace.target
    return replace(named(trace, args.function), target=target)


def _plan(vmfb: str) -> Plan | None:
    """The probe plan of a module; None where it has none. Raises `UsageError`."""
    module_functions.read(vmfb)  # says what is wrong with the file
    try:
        return read_plan(vmfb)
    except PlanError as problem:
        raise UsageError(f"{vmfb}: {problem}; compile it again with this version") from None


def _sampled(trace: Trace, every: int) -> Trace:
    """Every n-th call, the first included, and what ran at loading."""
    if every == 1:
        return trace
    calls = [each for each in trace.iterations if each.function != SETUP]
    kept = {each.first for each in calls[::every]}
    setup = {each.first for each in trace.iterations if each.function == SETUP}
    left = [each for each in trace.iterations if each.first in kept | setup]
    lost = len(trace.launches) - sum(each.launches for each in left)
    why = f"1 of {every} calls is kept, as --sample asked"
    loss = Loss(cause="sampling", unit="launches", lost=lost, total=len(trace.launches), why=why)
    return replace(capture.keep(trace, left), losses=(*trace.losses, loss))


def _refuse(trace: Trace, what: str | None) -> None:
    """Raises `TraceError` where a run was timed and every call of it was disturbed."""
    calls = [each for each in trace.iterations if each.function != SETUP]
    if calls and all(each.contended for each in calls):
        why = next((loss.why for loss in trace.losses if loss.cause == "contention"), "")
        raise TraceError(
            f"{what or 'trace'}: all {len(calls)} calls were disturbed: {why}; record again when "
            "the machine is idle, with more --iterations, or --contended=keep for all but times"
        )


def _tell(trace: Trace, path: str) -> None:
    for loss in trace.losses:
        errors.warning(f"{path}: {loss}")
    calls = sum(each.function != SETUP for each in trace.iterations)
    size = trace_file.size(path)
    print(f"{path}: {len(trace.launches)} launches in {calls} calls, {size} bytes")
