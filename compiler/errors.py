"""How this program speaks to people: one line, naming the thing, on stderr."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from xpu_shark.passes.text import one_line

USAGE: Final = 2  # exit code of a bad argument, before any compiling


class UsageError(Exception):
    """An argument is not right; the message is one line that says what was expected."""


def error(message: object) -> None:
    _say("error", str(message))


def warning(message: object) -> None:
    _say("warning", str(message))


def fault(doing: str, problem: BaseException) -> None:
    """A defect of ours: one line with where it happened; the caller goes on without the result."""
    warning(f"{doing}: {type(problem).__name__}: {problem}{_place(problem)} (please report)")


def close_stdout() -> None:
    """Let what standard output still holds go nowhere: nobody reads it any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _place(problem: BaseException) -> str:
    trace = problem.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def _say(severity: str, message: str) -> None:
    print(f"xpu-shark: {severity}: {one_line(message)}", file=sys.stderr, flush=True)
