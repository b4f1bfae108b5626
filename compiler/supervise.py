"""Runs the compile with analysis in a child, so that not even a crash of it ends the build.

The compiler runs in this process's child as a library. What it asserts or dereferences ends
the child; the parent then lets the stock compiler do the job, whose own end it passes on.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from xpu_shark.compiler import errors, stock
from xpu_shark.compiler.errors import USAGE, UsageError


@dataclass(frozen=True)
class Crash:
    """The child ended by signal `number`."""

    number: int


Result = int | str | Crash | None  # an exit code, a word for the caller, a crash, or None
INTERRUPTED: Final = 130
_PR_SET_PDEATHSIG: Final = 1  # of Linux's prctl
_MEANT: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


def run(work: Callable[[], Result]) -> Result:
    """What `work` returns, run in a child; `Crash` where it did not get to return."""
    if not hasattr(os, "fork"):
        return work()
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _die_with_parent()
        _child(work, writer)
    os.close(writer)
    previous = signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    try:
        word, status = _wait(child, reader)
    finally:
        signal.signal(signal.SIGTERM, previous)
    if not os.WIFSIGNALED(status):
        return _result(word)
    number = os.WTERMSIG(status)
    return 128 + number if number in _MEANT else Crash(number)


def without(args: Sequence[str], crash: Crash) -> int:
    """Exit code of iree-compile on `args`, after a crash of the compile with analysis.

    If that crashes too, it is IREE's fault and it has spoken.
    """
    status = subprocess.run([str(stock.binary()), *args], check=False).returncode
    if status >= 0:
        name = signal.Signals(crash.number).name
        print(file=sys.stderr)  # LLVM's crash report leaves its last line open
        errors.warning(f"analysis ended with {name}, compiled without it (please report)")
    return exit_code(status)


def exit_code(status: int) -> int:
    """A process's status as a shell and IREE's own Python launcher pass it on."""
    return status % 256


def _child(work: Callable[[], Result], writer: int) -> None:
    try:
        result = work()
    except UsageError as problem:
        errors.error(problem)
        result = USAGE
    except KeyboardInterrupt:
        result = INTERRUPTED
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(writer, f"{type(result).__name__} {result}".encode())
    # Not os._exit: the compiler library still has to flush what it wrote.
    ctypes.CDLL(None).exit(0)


def _die_with_parent() -> None:
    """A build tool that kills the parent outright must not leave the compile behind (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait(child: int, reader: int) -> tuple[str, int]:
    """What the child wrote, and how it ended. An interrupt of the parent ends the child too,
    whether or not the terminal told both, and counts as the child's own."""
    interrupted = False
    while True:
        try:
            with os.fdopen(os.dup(reader), "rb") as stream:
                word = stream.read().decode()
            _, status = os.waitpid(child, 0)
            os.close(reader)
            return word, signal.SIGINT if interrupted else status
        except KeyboardInterrupt:
            interrupted = True
            os.kill(child, signal.SIGTERM)


def _result(word: str) -> Result:
    kind, _, text = word.partition(" ")
    if kind == "int":
        return int(text)
    return text if kind == "str" else None
