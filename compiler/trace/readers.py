"""The files that a run leaves, by what they start with: one row, one reader."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from xpu_shark.compiler.trace import merge
from xpu_shark.compiler.trace.bind_trips import bind_trips
from xpu_shark.compiler.trace.model import Trace
from xpu_shark.compiler.trace.problem import TraceError, wrong
from xpu_shark.passes.instrument.plan import Plan


@dataclass(frozen=True)
class FileKind:
    """`module` has `read(path) -> Trace` and is imported when used."""

    name: str
    suffix: str
    magic: bytes
    module: str


KINDS: Final = (
    FileKind("instrument dump", ".idb", b"0IDB", "read_instrument"),
    FileKind("replay capture", ".ireereplay", b"IRRP", "read_replay"),
    FileKind("profile", ".ireeprof", b"IRPF", "read_profile"),
    FileKind("trace", ".xputrace", b"PK\x03\x04", "trace_file"),
)
DUMP, REPLAY, PROFILE, TRACE = KINDS


def kind_of(path: str) -> FileKind:
    """By its first bytes, or its suffix where those are damaged. Raises `TraceError`, `OSError`."""
    with Path(path).open("rb") as file:
        start = file.read(max(len(kind.magic) for kind in KINDS))
    for kind in KINDS:
        if start == kind.magic:
            return kind
    for kind in KINDS:
        if path.endswith(kind.suffix):
            return kind
    expected = " or ".join(f"{kind.magic!r} ({kind.name})" for kind in KINDS)
    raise wrong(path, 0, expected, start.hex(" ") or "an empty file")


def read(path: str, plan: Plan | None = None) -> Trace:
    """One file as a trace; `plan` is of the module that an instrument dump is of.

    Raises `TraceError`.
    """
    try:
        kind = kind_of(path)
        module = importlib.import_module(f"xpu_shark.compiler.trace.{kind.module}")
        found = module.read(path, plan) if kind is DUMP else module.read(path)
    except OSError as problem:
        raise TraceError(f"{path}: {problem.strerror or problem}") from None
    assert isinstance(found, Trace)
    return found


def read_all(paths: Sequence[str], plan: Plan | None = None) -> Trace:
    """Files as one trace, in the order given.

    A replay, a profile and an instrument dump next to each other, in any order, are of one run;
    what else there is follows it. Raises `TraceError`, also where two carry different programs.
    """
    parts: list[Trace] = []
    run: dict[FileKind, Trace] = {}
    programs: dict[bytes, str] = {}
    for path in paths:
        kind, trace = kind_of_checked(path), read(path, plan)
        if trace.program:
            programs.setdefault(trace.program, path)
        if len(programs) > 1:
            first = next(iter(programs.values()))
            raise TraceError(f"{path}: its program is not that of {first}; keep them apart")
        if kind in run or kind is TRACE:
            parts += _one_run(run)
            run = {}
        if kind is TRACE:
            parts.append(trace)
        else:
            run[kind] = trace
    parts += _one_run(run)
    return merge.settle(merge.append(parts))


def _one_run(files: dict[FileKind, Trace]) -> list[Trace]:
    parts = [files[kind] for kind in (REPLAY, PROFILE) if kind in files]
    if len(parts) > 1:
        parts = [merge.join(*parts)]
    if DUMP in files:
        probed = {export.name for export in files[DUMP].exports}
        parts = [merge.without_probes(part, probed) for part in parts]
        parts = [bind_trips(merge.append([*parts, files[DUMP]]))]
    return parts


def kind_of_checked(path: str) -> FileKind:
    """`kind_of`, with a file that cannot be opened as a `TraceError`."""
    try:
        return kind_of(path)
    except OSError as problem:
        raise TraceError(f"{path}: {problem.strerror or problem}") from None
