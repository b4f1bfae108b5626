"""Reads an .ireereplay capture through `iree-dump-replay`: what ran, in order, with constants.

The capture also holds the contents of buffers; those byte ranges are never read.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from xpu_shark.compiler.trace import container, tool
from xpu_shark.compiler.trace.builder import Builder
from xpu_shark.compiler.trace.model import SETUP, UNKNOWN, Export, Kind, Trace, What
from xpu_shark.compiler.trace.problem import wrong

MAGIC: Final = b"IRRP"
_MAJOR: Final = 2
UNPROFILED: Final = -2  # duration of a launch before the profile began or after it ended
_WHOLE: Final = (1 << 64) - 1  # a buffer's length when it is not limited
_BINDING: Final = struct.Struct("<QQQII")  # buffer, offset, length, slot, padding
_LARGEST_ARGUMENTS: Final = 1 << 16  # bytes of one dispatch's constants or bindings
# Commands that move bytes, in a command buffer or straight on a queue.
_MOVES: Final[dict[str, What]] = {
    "fill_buffer": "fill",
    "update_buffer": "update",
    "copy_buffer": "copy",
    "collective": "collective",
    "queue_fill": "fill",
    "queue_update": "update",
    "queue_copy": "copy",
    "queue_read": "read",
    "queue_write": "write",
}


class _Record(msgspec.Struct):
    kind: str
    operation: str = ""
    object_type: str = ""
    file_offset: int = 0
    record_length: int = 0
    device_id: int = 0
    object_id: int = 0
    related_object_id: int = 0
    payload: dict[str, Any] = {}


def read(path: str) -> Trace:
    """Launches without times, one iteration a call. Raises `TraceError` or `OSError`."""
    container.check(path, MAGIC, _MAJOR)
    decode = msgspec.json.Decoder(_Record).decode
    place = 0
    with Path(path).open("rb") as file:
        reader = _Reader(path, file)
        try:
            for line in tool.lines("iree-dump-replay", "--format=jsonl", path=path):
                record = decode(line)
                place = record.file_offset + record.record_length or place
                reader.take(record)
        except tool.ToolError as problem:
            raise wrong(path, place, "a record that fits", problem) from None
        except (msgspec.MsgspecError, struct.error, KeyError, TypeError) as problem:
            found = f"{type(problem).__name__} {problem}"
            raise wrong(path, place, "a replay record", found) from None
    return reader.trace()


class _Reader:
    """Command buffers are kept as kinds and counted when a queue executes them."""

    def __init__(self, path: str, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        self._builder = Builder()
        self._names: dict[tuple[int, int], str] = {}  # (executable, ordinal) -> export
        self._buffers: dict[int, list[tuple[Kind, tuple[int, ...]]]] = {}
        self._devices: dict[int, int] = {}
        self._profiled: bool | None = None
        self._builder.begin(SETUP)

    def take(self, record: _Record) -> None:
        room, _, name = record.operation.partition(".")
        if record.kind == "object" and record.object_type == "device":
            self._devices.setdefault(record.object_id, len(self._devices))
        elif record.operation == "executable_cache.prepare_executable":
            self._executable(record)
        elif room == "command_buffer":
            self._command(record, name)
        elif record.operation == "device.queue_execute":
            self._execute(record)
        elif room == "device":
            self._queue(record, name)
        elif record.operation == "replay.scope_begin":
            self._builder.begin("" if record.payload["name"] == "execute" else SETUP)

    def trace(self) -> Trace:
        return Trace(
            kinds=self._builder.kinds(),
            launches=self._builder.launches(),
            iterations=self._builder.iterations(),
            exports=tuple(self._builder.exports.values()),
            sources=(Path(self._path).name,),
        )

    def _executable(self, record: _Record) -> None:
        payload = record.payload
        form = self._bytes(payload["format_range"], 256).decode(errors="replace")
        count = payload["metadata_function_count"]
        storage = payload["metadata_function_name_storage_length"]
        names = _names(self._bytes(payload["metadata_range"], 1 << 24), count, storage)
        for ordinal, name in enumerate(names):
            self._names[record.related_object_id, ordinal] = name
            self._builder.exports.setdefault(name, Export(name=name, format=form))

    def _command(self, record: _Record, name: str) -> None:
        commands = self._buffers.setdefault(record.object_id, [])
        if name == "begin":
            commands.clear()
        elif name == "dispatch":
            commands.append(self._dispatch(record))
        elif name in _MOVES:
            commands.append((self._move(record, _MOVES[name]), ()))

    def _execute(self, record: _Record) -> None:
        table = [ref["length"] for ref in record.payload["bindings"]]
        for kind, slots in self._buffers.get(record.payload["command_buffer_id"], ()):
            self._add(_resolve(kind, slots, table))

    def _queue(self, record: _Record, name: str) -> None:
        if name == "queue_dispatch":
            self._add(self._dispatch(record)[0])
        elif name in _MOVES:
            self._add(self._move(record, _MOVES[name]))
        elif name in ("profiling_begin", "profiling_end"):
            self._profiled = name == "profiling_begin"

    def _add(self, kind: Kind) -> None:
        self._builder.add(kind, duration_ns=UNKNOWN if self._profiled else UNPROFILED)

    def _dispatch(self, record: _Record) -> tuple[Kind, tuple[int, ...]]:
        """The kind, and for each binding its slot in the table that an execution brings."""
        payload = record.payload
        words = self._bytes(payload["constants_range"], _LARGEST_ARGUMENTS)
        refs = self._bytes(payload["bindings_range"], _LARGEST_ARGUMENTS)
        refs = refs[: len(refs) // _BINDING.size * _BINDING.size]
        bindings = list(_BINDING.iter_unpack(refs))
        function = (payload["executable_id"], payload["function_ordinal"])
        kind = Kind(
            what="dispatch",
            export=self._names.get(function, f"executable{function[0]}.function{function[1]}"),
            device=self._devices.get(record.device_id, 0),
            workgroups=tuple(payload["workgroup_count"]),
            constants=struct.unpack(f"<{len(words) // 4}I", words[: len(words) // 4 * 4]),
            bindings=tuple(0 if b[2] == _WHOLE else b[2] for b in bindings),
        )
        return kind, tuple(b[3] if b[0] == 0 and b[2] == _WHOLE else -1 for b in bindings)

    def _move(self, record: _Record, what: What) -> Kind:
        payload = record.payload
        refs = [payload[name] for name in ("target", "target_ref", "source") if name in payload]
        size = refs[0]["length"] if refs else payload.get("length", 0)
        return Kind(what=what, device=self._devices.get(record.device_id, 0), bytes=_known(size))

    def _bytes(self, where: dict[str, int], most: int) -> bytes:
        """A byte range that the dump names; never more than `most`."""
        if where["length"] > most:
            found = f"{where['length']} bytes"
            raise wrong(self._path, where["offset"], f"at most {most} bytes", found)
        self._file.seek(where["offset"])
        return self._file.read(where["length"])


def _known(length: int) -> int:
    return 0 if length == _WHOLE else length


def _resolve(kind: Kind, slots: tuple[int, ...], table: list[int]) -> Kind:
    """`kind` with the sizes of whole-buffer bindings taken from the execution's table."""
    if all(slot < 0 for slot in slots):
        return kind
    sizes = [
        _known(table[slot]) if 0 <= slot < len(table) else size
        for size, slot in zip(kind.bindings, slots, strict=True)
    ]
    return msgspec.structs.replace(kind, bindings=tuple(sizes))


def _names(blob: bytes, count: int, storage: int) -> list[str]:
    """Export names of an executable: the blob ends with them, one after the other.

    It starts with 32 bytes of counts and 32 bytes for each function, of which bytes 26 and 27 are
    the name's length.
    """
    text, at, names = blob[len(blob) - storage :], 0, []
    for number in range(count):
        (length,) = struct.unpack_from("<H", blob, 32 + 32 * number + 26)
        names.append(text[at : at + length].decode(errors="replace"))
        at += length
    return names
