"""Where remarks go: one line each to the log, and LLVM's YAML to a file.

MLIR's engine has one sink at a time, a file or a callback, and its own log format repeats
category and arguments and adds the source line. So the engine filters and calls back, this
module prints, and the file is written by the engine once the compile is over.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from iree.compiler import ir

from xpu_shark.passes.text import one_line

_COUNTED = "RemarkId"  # the engine numbers remarks itself


@dataclass(frozen=True)
class Record:
    """One remark that passed the filter."""

    kind: ir.RemarkKind
    name: str
    category: str
    sub_category: str
    function: str
    args: tuple[tuple[str, str], ...]
    location: ir.Location

    @property
    def message(self) -> str:
        return dict(self.args).get("Remark", "")

    @property
    def label(self) -> str:
        return self.category + (f":{self.sub_category}" if self.sub_category else "")


class RemarkSink:
    """Remarks of one compile whose category matches `pattern`, in the order they came."""

    def __init__(self, context: ir.Context, pattern: str, tell: Callable[[Record], None]) -> None:
        self.records: list[Record] = []
        self._context = context
        self._pattern = pattern
        self._tell = tell

    @contextmanager
    def listening(self, *, tell: bool) -> Iterator[None]:
        """Collect what is emitted meanwhile, and `tell` each one as it comes."""

        def collect(remark: ir.Remark) -> None:
            record = _record(remark)
            self.records.append(record)
            if tell:
                self._tell(record)

        self._context.enable_remarks(all_filter=self._pattern, callback=collect)
        try:
            yield
        finally:
            self._context.finalize_remarks()

    def write_yaml(self, path: str) -> None:
        """All records as LLVM YAML. Raises `ValueError` when `path` cannot be written."""
        self._context.enable_remarks(all_filter=".*", output_file=path)
        try:
            for record in self.records:
                _replay(record)
        finally:
            self._context.finalize_remarks()


def print_record(record: Record) -> None:
    """One line in the build log: `model.mlir:41:12: remark: [xpu-shark.tiling] message`."""
    print(log_line(record), file=sys.stderr, flush=True)


def log_line(record: Record) -> str:
    place = one_line(position(record.location))
    return f"{place + ': ' if place else ''}remark: [{record.label}] {record.message}"


def position(location: ir.Location) -> str:
    """`file:line:col` of the first place in the user's file that `location` leads to, or empty."""
    if isinstance(location, ir.FileLineColLoc):
        return f"{location.filename}:{location.start_line}:{location.start_col}"
    if isinstance(location, ir.CallSiteLoc):
        return position(location.callee) or position(location.caller)
    if isinstance(location, ir.NameLoc):
        return position(location.child_loc)
    if isinstance(location, ir.FusedLoc):
        return next(filter(None, map(position, location.locations)), "")
    return ""


def _record(remark: ir.Remark) -> Record:
    category = remark.category_name
    return Record(
        kind=remark.kind,
        name=remark.remark_name,
        category=category,
        sub_category=remark.full_category_name[len(category) + 1 :],
        function=remark.function_name,
        args=tuple((key, value) for key, value in remark.args if key != _COUNTED),
        location=remark.location,
    )


def _replay(record: Record) -> None:
    record.location.emit_remark(
        record.kind,
        record.name,
        category=record.category,
        sub_category=record.sub_category,
        function_name=record.function,
        args=list(record.args),
    )
