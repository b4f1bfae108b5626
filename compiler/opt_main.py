"""`xpu-shark-opt`: run passes over one file, print the IR and what they say. For lit tests.

The IR goes to stdout, diagnostics and remarks to stderr, one line each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

from xpu_shark.compiler import errors, flags
from xpu_shark.compiler.compile_main import check_regex
from xpu_shark.compiler.errors import USAGE, UsageError
from xpu_shark.compiler.expected_diagnostics import expectations, mismatches
from xpu_shark.compiler.flags import Options

if TYPE_CHECKING:
    from xpu_shark.compiler.opt_module import Chunk, OptModule

DEFAULT_TARGET = "tiny"


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0, 1 for errors or unmet expectations, 2 for a bad argument."""
    try:
        ours, theirs = flags.split(sys.argv[1:] if argv is None else argv)
        args = _parse(theirs)
        check_regex(args.remarks_filter)
        code = _run(args, flags.options(ours, DEFAULT_TARGET))
        sys.stdout.flush()
        return code
    except UsageError as problem:
        errors.error(problem)
        return USAGE
    except BrokenPipeError:  # the reader (FileCheck, head) has seen enough
        errors.close_stdout()
        return 1


def _parse(args: Sequence[str]) -> argparse.Namespace:
    """The checked arguments; help is written out here, where a reader that left is noticed."""
    try:
        return _parser().parse_args(args)
    except SystemExit:
        sys.stdout.flush()
        raise


def _run(args: argparse.Namespace, options: Options) -> int:
    from xpu_shark.compiler import opt_module

    text = sys.stdin.read() if args.input == "-" else opt_module.read(args.input)
    good = True
    for number, chunk in enumerate(opt_module.chunks(text, split=args.split_input_file)):
        if number and not args.no_print:
            print("// -----")
        good &= _chunk(args, options, chunk)
    return 0 if good else 1


def _chunk(args: argparse.Namespace, options: Options, chunk: Chunk) -> bool:
    """Handle one module; whether all is well with it."""
    from xpu_shark.compiler.opt_module import OptModule

    name = "<stdin>" if args.input == "-" else args.input
    module = OptModule(name, chunk)
    done = module.parse() and _passes(args, options, module)
    if done and module.module is not None and not args.no_print:
        print(module.module.get_asm(enable_debug_info=args.mlir_print_debuginfo))
    if not args.verify_diagnostics:
        _tell(map(str, module.diagnostics))
        return done and all(each.kind != "error" for each in module.diagnostics)
    expected = expectations(chunk.text, chunk.first_line)
    problems = mismatches(expected, module.diagnostics, name)
    _tell(problems)
    return not problems


def _passes(args: argparse.Namespace, options: Options, module: OptModule) -> bool:
    from xpu_shark.compiler.opt_module import resolve
    from xpu_shark.compiler.pipeline import analysis
    from xpu_shark.compiler.remark_sink import RemarkSink

    sink = RemarkSink(module.context, args.remarks_filter, module.remark)
    with sink.listening(tell=True):
        fault = module.run(resolve(args.passes), analysis(options, module.file))
    if fault is None:
        return True
    errors.error(fault)
    if args.traceback:
        print(fault.trace(), file=sys.stderr)
    return False


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr, flush=True)


class _Parser(argparse.ArgumentParser):
    """argparse with our one-line errors."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="xpu-shark-opt",
        allow_abbrev=False,
        description=__doc__,
        epilog="and of the flags of `xpu-shark compile`: --xpu-target (default: tiny), --xpu-dim, "
        "--xpu-tiling, --xpu-devices, --xpu-slow-link, --xpu-fold",
    )
    add = parser.add_argument
    add("input", metavar="IN.mlir", help="file to read, - for stdin")
    add("--passes", default="", metavar="a,b", help="passes, ours by name or MLIR's as text")
    add("--split-input-file", action="store_true", help="handle parts between // ----- apart")
    add("--verify-diagnostics", action="store_true", help="compare with // expected-* comments")
    add("--print-ir", action="store_false", dest="no_print", help="print the IR (default)")
    add("--no-print", action="store_true", help="do not print the IR")
    add("--mlir-print-debuginfo", action="store_true", help="print locations with the IR")
    add("--remarks-filter", default=".*", metavar="REGEX", help="categories to show (default: all)")
    add("--traceback", action="store_true", help="show where a pass raised an exception")
    parser.set_defaults(no_print=False)
    return parser


if __name__ == "__main__":
    sys.exit(main())
