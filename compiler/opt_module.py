"""Modules for xpu-shark-opt: read from text under the user's file name, run through passes."""

from __future__ import annotations

import ctypes
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from iree.compiler import ir
from iree.compiler.api import Session, Source, ctypes_dl
from iree.compiler.passmanager import PassManager

from xpu_shark.compiler import pass_registry
from xpu_shark.compiler.errors import UsageError
from xpu_shark.compiler.expected_diagnostics import Diagnostic
from xpu_shark.compiler.remark_sink import Record, position
from xpu_shark.passes.module_pass import Analysis, ModulePass

_SEPARATOR = re.compile(r"^// -----[^\n]*$", re.MULTILINE)
_DUMP: Final = "see current operation: "  # a note of the whole op, for people only
# Diagnostic handlers are Python: unlike ctypes' usual way, this one keeps the interpreter's lock.
_locked: Final[Any] = ctypes.PyDLL(ctypes_dl._dylib._name)
_parse: Final[Any] = _locked.ireeCompilerInvocationParseSource
_parse.restype, _parse.argtypes = ctypes.c_bool, [ctypes.c_void_p, ctypes.c_void_p]


@dataclass(frozen=True)
class Chunk:
    """Part of a file; `first_line` is the number of its first line there."""

    text: str
    first_line: int = 1


@dataclass
class OptModule:
    """One chunk's module, and what was said about it so far."""

    file: str
    chunk: Chunk
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._session = Session()
        self.context: ir.Context = self._session.context
        self.context.enable_multithreading(False)
        self.context.emit_error_diagnostics = True
        self._handler = self.context.attach_diagnostic_handler(self._collect)
        self._invocation = self._session.invocation()
        self.module: ir.Operation | None = None

    def parse(self) -> bool:
        """Read the chunk; False after diagnostics. Lines count from the start of the file."""
        text = "\n" * (self.chunk.first_line - 1) + self.chunk.text
        data = text.encode(errors="surrogateescape") + b"\0"
        source = Source.wrap_buffer(self._session, data, buffer_name=self.file)
        self._invocation._sources.append(source)
        if not _parse(self._invocation._inv_p, source._source_p):
            return False
        self.module = self._invocation.export_module()
        return True

    def run(self, passes: Sequence[str | ModulePass], analysis: Analysis) -> PassFault | None:
        """Run `passes`, ours and MLIR's mixed; what a pass of ours raised is returned.

        A pass that fails the MLIR way has left a diagnostic.
        """
        manager = PassManager("builtin.module", context=self.context)
        faults: list[PassFault] = []
        for each in passes:
            if isinstance(each, str):
                _add_text(manager, each)
            else:
                manager.add(_callable(each, analysis, faults), name=each.name, argument=each.name)
        try:
            manager.run(self.module)
        except ir.MLIRError as problem:
            if not faults and not any(each.kind == "error" for each in self.diagnostics):
                self.diagnostics.append(Diagnostic("error", str(problem)))
        return faults[0] if faults else None

    def remark(self, record: Record) -> None:
        """Take a remark as one more diagnostic."""
        message = f"[{record.label}] {record.message}"
        self.diagnostics.append(_diagnostic("remark", message, record.location))

    def _collect(self, info: ir.DiagnosticInfo) -> bool:
        kind = info.severity.name.lower()
        self.diagnostics.append(_diagnostic(kind, info.message, info.location))
        for note in info.notes:
            if note.message.startswith(_DUMP):
                continue
            self.diagnostics.append(_diagnostic("note", note.message, note.location))
        return True


@dataclass(frozen=True)
class PassFault:
    """An exception that left a pass of ours."""

    name: str
    problem: Exception

    def __str__(self) -> str:
        return f"pass {self.name}: {type(self.problem).__name__}: {self.problem}"

    def trace(self) -> str:
        return "".join(traceback.format_exception(self.problem))


def chunks(text: str, *, split: bool) -> Iterator[Chunk]:
    """The parts of `text` between lines `// -----`, or all of it."""
    if not split:
        yield Chunk(text)
        return
    start = 0
    for separator in _SEPARATOR.finditer(text):
        yield Chunk(text[start : separator.start()], text.count("\n", 0, start) + 1)
        start = separator.end()
    yield Chunk(text[start:], text.count("\n", 0, start) + 1)


def resolve(pipeline: str) -> list[str | ModulePass]:
    """Passes of a comma-separated list: ours by name, anything else as MLIR's textual passes."""
    names = split_pipeline(pipeline)
    ours = pass_registry.available()
    return [pass_registry.create(name) if name in ours else name for name in names]


def split_pipeline(text: str) -> list[str]:
    """Parts of a pass list at its top level: `a,b(c,d){e=f,g}` has two."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "({") - (character in ")}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _add_text(manager: PassManager, text: str) -> None:
    try:
        manager.add(text)
    except ValueError as problem:
        hint = pass_registry.hint(text)
        _, _, reason = str(problem).partition("error: ")
        reason = reason.partition("\n")[0]
        message = f"--passes: {text!r} is neither a pass of ours{hint}, nor MLIR's: {reason}"
        raise UsageError(message) from problem


def _callable(
    each: ModulePass, analysis: Analysis, faults: list[PassFault]
) -> Callable[[ir.Operation, Any], None]:
    def run(module: ir.Operation, handle: Any) -> None:  # noqa: ANN401  (ExternalPass)
        try:
            each.run(module.operation, analysis)
        except Exception as problem:  # shown by the caller, in one line
            faults.append(PassFault(each.name, problem))
            handle.signal_pass_failure()

    return run


def _diagnostic(kind: str, message: str, location: ir.Location) -> Diagnostic:
    file, line, column = [*position(location).rsplit(":", 2), "", ""][:3]
    return Diagnostic(kind, message, file, int(line or 0), int(column or 0))


def read(path: str) -> str:
    """Text of an input file; `UsageError` names what is wrong with it."""
    try:
        return Path(path).read_text(errors="surrogateescape")
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror}") from problem
