"""Reads an .ireeprof bundle through `iree-profile export`: launches in order, with times."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from xpu_shark.compiler.trace import container, profile_records, tool
from xpu_shark.compiler.trace.builder import Builder
from xpu_shark.compiler.trace.model import UNKNOWN, Export, Kind, Loss, Trace
from xpu_shark.compiler.trace.problem import TraceError

MAGIC: Final = b"IRPF"
_MAJOR: Final = 1
SCHEMA: Final = 15  # of the export that this reader was written against
_TIMED: Final = ("host_execution_event", "dispatch_event")


class _Row(msgspec.Struct):
    """The fields used, of all record types together."""

    record_type: str
    schema_version: int = SCHEMA
    physical_device_ordinal: int = 0
    executable_id: int = 0
    function_ordinal: int = 0
    name: str = ""
    op: str = "dispatch"  # a dispatch_event has none
    key: str | None = None
    workgroup_count: tuple[int, int, int] = (0, 0, 0)
    start_host_time_ns: int | None = None
    duration_ns: int | None = None
    valid: bool = True


def read(path: str) -> Trace:
    """Launches sorted by start. Raises `TraceError` or `OSError`."""
    container.check(path, MAGIC, _MAJOR)
    try:
        return _read(path)
    except tool.ToolError as problem:
        raise profile_records.locate(path, problem, _read) from None


def _read(path: str) -> Trace:
    """Raises `ToolError`."""
    names: dict[tuple[int, int], str] = {}
    events: list[tuple[int, int, Kind]] = []
    decoder = msgspec.json.Decoder(_Row)
    for line in tool.lines("iree-profile", "export", "--format=ireeperf-jsonl", path=path):
        row = _row(decoder, line, path)
        if row.record_type == "executable_function":
            names[row.executable_id, row.function_ordinal] = row.name
        elif row.record_type in _TIMED and row.op == "dispatch":
            events.append(_event(row, names))
    return _trace(path, events, names)


def _row(decoder: msgspec.json.Decoder[_Row], line: bytes, path: str) -> _Row:
    try:
        row = decoder.decode(line)
    except msgspec.MsgspecError as problem:
        raise tool.ToolError(f"iree-profile prints it so: {problem}") from None
    if row.schema_version != SCHEMA:
        found = row.schema_version
        raise TraceError(f"{path}: expected an export of schema {SCHEMA}, iree-profile has {found}")
    return row


def _event(row: _Row, names: dict[tuple[int, int], str]) -> tuple[int, int, Kind]:
    export = row.key or names.get((row.executable_id, row.function_ordinal), "")
    kind = Kind(
        what="dispatch",
        export=export,
        device=row.physical_device_ordinal,
        workgroups=row.workgroup_count,
    )
    timed = row.valid and row.duration_ns is not None
    start = UNKNOWN if row.start_host_time_ns is None else row.start_host_time_ns
    return start, (row.duration_ns or 0) if timed else UNKNOWN, kind


def _trace(
    path: str, events: list[tuple[int, int, Kind]], names: dict[tuple[int, int], str]
) -> Trace:
    events.sort(key=lambda event: event[0])
    builder = Builder()
    builder.begin("")
    for start, duration, kind in events:
        builder.add(kind, start, duration)
    count = len(events)
    losses = (
        Loss(
            cause="unrecorded",
            unit="launches' constants",
            lost=count,
            total=count,
            why="a profile has none; add the .ireereplay of the same run",
        ),
    )
    exports = dict.fromkeys([*names.values(), *(kind.export for _, _, kind in events)])
    return Trace(
        kinds=builder.kinds(),
        launches=builder.launches(),
        iterations=builder.iterations(),
        exports=tuple(Export(name=name) for name in exports if name),
        losses=losses if count else (),
        sources=(Path(path).name,),
    )
