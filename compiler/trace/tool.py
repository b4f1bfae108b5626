"""IREE's runtime tools: where they are, and reading what they print line by line."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from xpu_shark.compiler.errors import UsageError
from xpu_shark.passes.text import one_line

_BASE_S: Final = 60  # patience with a tool that reads a file; a hang is a fault of the file
_PLACE: Final = re.compile(r"\S+\.cc?:\d+: [A-Z_]+; ")  # in IREE's own source
_BYTES_PER_S: Final = 1 << 20


class ToolError(Exception):
    """A tool refuses a file, or prints what is none of its records: its own words, in one line."""


def binary(name: str) -> str:
    """Path of a tool in the runtime's wheel, found without importing it. Raises `UsageError`."""
    spec = importlib.util.find_spec("iree")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, "_runtime_libs", name + (".exe" if os.name == "nt" else ""))
        if path.is_file():
            return str(path)
    raise UsageError(f"{name} is not installed: pip install iree-base-runtime")


def lines(name: str, *args: str, path: str) -> Iterator[bytes]:
    """What tool `name` prints on reading `path`, a line at a time.

    Raises `ToolError` where it refuses the file or does not end.
    """
    patience = _BASE_S + Path(path).stat().st_size / _BYTES_PER_S
    with tempfile.TemporaryFile() as said:
        command = [binary(name), *args, path]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said) as process:
            late = threading.Event()
            timer = threading.Timer(patience, _stop, (process, late))
            timer.start()
            try:
                assert process.stdout is not None
                yield from process.stdout
                process.wait()
            finally:
                timer.cancel()
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
        if late.is_set():
            raise ToolError(f"{name} still reading after {patience:.0f} s")
        if process.returncode:
            raise ToolError(f"{name}: {_reason(said, process.returncode)}")


def _stop(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


def _reason(said: IO[bytes], code: int) -> str:
    said.seek(0)
    text = one_line(_PLACE.sub("", said.read(4096).decode(errors="replace").strip()))
    return text or (f"killed by signal {-code}" if code < 0 else f"exit code {code}")
