"""`xpu-shark compile`: iree-compile, and with an --xpu- flag its remarks as well."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from xpu_shark.compiler import errors, flags, outputs, pass_registry, probing, stock, supervise
from xpu_shark.compiler.errors import UsageError
from xpu_shark.compiler.flags import Options
from xpu_shark.compiler.iree_flags import StockOnly, expand_response_files
from xpu_shark.compiler.probing import Refused

if TYPE_CHECKING:
    from iree.compiler.api import Output

    from xpu_shark.compiler.session import CompileSession

DEFAULT_FILTER: Final = "xpu-shark.*"
_REFUSED: Final = "refused"


def main(argv: Sequence[str]) -> int:
    """Compile; returns the exit code, or becomes iree-compile and does not return."""
    ours, theirs = flags.split(expand_response_files(argv))
    if not ours:
        stock.become(argv)
    options = flags.options(ours, probes=True)
    if options.passes != flags.DEFAULT_PASSES:
        pass_registry.check(options.passes)
    from xpu_shark.compiler.pipeline import repeatable_stdin

    with repeatable_stdin(theirs):
        result = supervise.run(lambda: _compile(theirs, options))
    if isinstance(result, int):
        return result
    if isinstance(result, supervise.Crash):
        return supervise.without(theirs, result)
    if result == _REFUSED:
        probing.compile_without(ours, theirs)
    stock.become(theirs)


def check_regex(pattern: str) -> None:
    """Raise `UsageError` for a --remarks-filter that can match nothing because it is broken."""
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        try:
            re.compile(pattern)
        except re.error as problem:
            raise UsageError(f"--remarks-filter={pattern}: not a regex: {problem}") from problem


def _compile(args: Sequence[str], options: Options) -> int | str | None:
    """Exit code of the compile, None where the stock compiler has to do it (again), or the word
    for a backend that takes no probes."""
    try:
        return _run(args, options)
    except StockOnly as reason:
        if str(reason):
            errors.warning(reason)
    except Refused:
        return _REFUSED
    except UsageError:
        raise
    except Exception as problem:  # any defect of ours: reported, and the build goes on
        errors.fault("analysis failed, compiling without it", problem)
    return None


def _run(args: Sequence[str], options: Options) -> int:
    from iree.compiler.api import Output

    from xpu_shark.compiler import pipeline
    from xpu_shark.compiler.session import CompileSession

    command = pipeline.command_line(probing.arguments(args, options.instrument))
    outputs.check("-o", command.output)
    outputs.check("--remarks-output-file", command.remarks_output_file)
    check_regex(command.remarks_filter)
    passes = pipeline.passes(options, command)
    probes = probing.probing(options.instrument, options.effort)
    if probes is not None:
        passes = probing.readers(passes)
    with Output.open_file(command.output) as output, CompileSession(command) as session:
        steps = pipeline.Pipeline(session, command, DEFAULT_FILTER)
        shared = pipeline.analysis(options, command.input)
        done = steps.parse() and steps.run(passes, shared, probes)
        done = done and steps.advance(command.compile_to)
        steps.write_remarks()
        if not done:
            return 1
        if not _write(session, output):
            return 1
        output.keep()
    if probes is not None:
        probes.tell()
    return 0


def _write(session: CompileSession, output: Output) -> bool:
    """Write the result; False after IREE's message, ended as iree-compile ends it."""
    try:
        session.write(output)
    except ValueError as problem:
        print(f"error opening input file: {problem}", file=sys.stderr, flush=True)
        return False
    return True
