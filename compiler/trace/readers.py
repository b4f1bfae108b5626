"""The files that a run leaves, by what they start with: one row, one reader."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from xpu_shark.compiler.trace import merge
from xpu_shark.compiler.trace.model import Trace
from xpu_shark.compiler.trace.problem import TraceError, wrong


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
REPLAY, PROFILE = KINDS[1], KINDS[2]


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


def read(path: str) -> Trace:
    """One file as a trace. Raises `TraceError`."""
    try:
        module = importlib.import_module(f"xpu_shark.compiler.trace.{kind_of(path).module}")
        found = module.read(path)
    except OSError as problem:
        raise TraceError(f"{path}: {problem.strerror or problem}") from None
    assert isinstance(found, Trace)
    return found


def read_all(paths: Sequence[str]) -> Trace:
    """Files as one trace, in the order given.

    A replay and a profile next to each other are of one run; what else there is follows it.
    """
    parts: list[Trace] = []
    waiting: tuple[FileKind, Trace] | None = None
    for path in paths:
        kind, trace = kind_of_checked(path), read(path)
        if waiting and {waiting[0], kind} == {REPLAY, PROFILE}:
            pair = {waiting[0].name: waiting[1], kind.name: trace}
            parts.append(merge.join(pair[REPLAY.name], pair[PROFILE.name]))
            waiting = None
            continue
        parts += [waiting[1]] if waiting else []
        waiting = (kind, trace) if kind in (REPLAY, PROFILE) else None
        parts += [] if waiting else [trace]
    parts += [waiting[1]] if waiting else []
    return merge.settle(merge.append(parts))


def kind_of_checked(path: str) -> FileKind:
    """`kind_of`, with a file that cannot be opened as a `TraceError`."""
    try:
        return kind_of(path)
    except OSError as problem:
        raise TraceError(f"{path}: {problem.strerror or problem}") from None
