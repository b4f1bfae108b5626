"""The .xputrace file: a trace as columns; docs/trace.md describes it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from xpu_shark.compiler.trace import archive, columns, tables
from xpu_shark.compiler.trace.archive import MAGIC, Array
from xpu_shark.compiler.trace.model import (
    UNKNOWN,
    Column,
    Export,
    Iteration,
    Kind,
    Launches,
    Loss,
    Probe,
    Trace,
)
from xpu_shark.compiler.trace.problem import TraceError

__all__ = ["MAGIC", "VERSION", "read", "write"]
VERSION: Final = 2
SUFFIX: Final = ".xputrace"
_TABLES: Final[dict[str, type[msgspec.Struct]]] = {
    "kinds": Kind,
    "iterations": Iteration,
    "exports": Export,
    "probes": Probe,
    "losses": Loss,
}
_PARTS: Final = ("", "_at", "_rare")  # of a packed column
_TEXTS: Final = ("device", "machine", "target", "tool")


def write(path: str, trace: Trace) -> None:
    """Whole or not at all; the same trace gives the same bytes. Raises `OSError`."""
    archive.write(path, _arrays(trace))


def read(path: str) -> Trace:
    """Raises `TraceError` for a file that is damaged or of another version, or `OSError`."""
    arrays = archive.read(path)
    version = arrays.get("version")
    if version is None or version.shape != ():
        raise TraceError(f"{path}: offset 0: expected a .xputrace, found a zip without a version")
    if int(version) != VERSION:
        found = f"{path}: offset 0: expected version {VERSION} of .xputrace, found {int(version)}"
        raise TraceError(f"{found}; record it again or use the program that wrote it")
    try:
        return _trace(arrays)
    except KeyError as problem:
        raise TraceError(f"{path}: offset 0: expected the array {problem} in it") from None
    except (ValueError, TypeError, OverflowError, msgspec.ValidationError) as problem:
        raise TraceError(f"{path}: offset 0: expected a whole trace: {problem}") from None


def size(path: str) -> int:
    """Bytes of the file."""
    return Path(path).stat().st_size


def _arrays(trace: Trace) -> dict[str, Array]:
    names = tables.Strings()
    launches = trace.launches
    result: dict[str, Array] = {
        "version": np.array(VERSION, np.int64),
        "launches": np.array(len(launches), np.int64),
        **_packed("kind", launches.kind),
        **_packed("gap_ns", columns.gaps(launches.start_ns, launches.duration_ns)),
        **_packed("duration_ns", launches.duration_ns),
        "launch_timed": np.packbits(launches.start_ns != UNKNOWN),
    }
    for name, row in _TABLES.items():
        result |= tables.columns(name, row, getattr(trace, name), names)
    for name in _TEXTS:
        result[name] = np.array(names.number(getattr(trace, name)), np.int64)
    numbers = [names.number(source) for source in trace.sources]
    result["sources"] = np.array(numbers, np.int64)
    result["program"] = np.frombuffer(trace.program, np.uint8)
    return result | names.arrays()


def _trace(arrays: dict[str, Array]) -> Trace:
    names = tables.strings(arrays)
    found: dict[str, Any] = {
        name: tuple(tables.rows(name, row, arrays, names)) for name, row in _TABLES.items()
    }
    found |= {name: names.text(int(arrays[name])) for name in _TEXTS}
    found["sources"] = tuple(names.text(number) for number in arrays["sources"].tolist())
    found["program"] = arrays["program"].tobytes()
    found["launches"] = _launches(arrays, len(found["kinds"]))
    assert set(found) == {field.name for field in fields(Trace)}
    _check(found["iterations"], len(found["launches"]))
    _check_trips(found["kinds"], found["probes"])
    return Trace(**found)


def _launches(arrays: dict[str, Array], kinds: int) -> Launches:
    count = int(arrays["launches"])
    kind = _unpacked("kind", arrays, count)
    _inside(kind, kinds)
    if len(arrays["launch_timed"]) * 8 < count:
        raise ValueError(f"expected {count} bits in launch_timed")
    timed = np.unpackbits(arrays["launch_timed"], count=count).view(np.bool_)
    duration = _unpacked("duration_ns", arrays, count)
    start = columns.starts(_unpacked("gap_ns", arrays, count, least=8), duration, timed)
    return Launches(kind, start, duration)


def _packed(name: str, values: Column) -> dict[str, Array]:
    packed = columns.pack(values)
    return {f"launch_{name}{suffix}": part for suffix, part in zip(_PARTS, packed, strict=True)}


def _unpacked(name: str, arrays: dict[str, Array], count: int, *, least: int = 1) -> Column:
    """The column, whose bytes are dropped from `arrays`: there may be many."""
    parts = (arrays.pop(f"launch_{name}{suffix}") for suffix in _PARTS)
    return columns.unpack(columns.Packed(*parts), count, least=least)


def _inside(kind: Column, kinds: int) -> None:
    if len(kind) and not 0 <= int(kind.min()) <= int(kind.max()) < kinds:
        raise ValueError(f"expected launches of a kind below {kinds}, found {int(kind.max())}")


def _check(iterations: tuple[Iteration, ...], launches: int) -> None:
    at = 0
    for each in iterations:
        if each.first < at or each.launches < 0 or each.first + each.launches > launches:
            raise ValueError(f"expected iterations in order within {launches} launches")
        at = each.first + each.launches


def _check_trips(kinds: tuple[Kind, ...], probes: tuple[Probe, ...]) -> None:
    rows = [(kind.trips, 3) for kind in kinds] + [(each.values, 2) for each in probes if each.trip]
    if any(len(values) % size or min(values, default=0) < 0 for values, size in rows):
        raise ValueError("expected trip counts in threes and pairs, none below 0")
