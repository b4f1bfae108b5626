"""Named arrays in one file: npz without pickle, the same bytes for the same arrays.

A file is written beside its place and renamed, so a crash leaves the old one or none.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from xpu_shark.compiler import outputs
from xpu_shark.compiler.trace.problem import TraceError, wrong

Array = NDArray[Any]
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # zip's first day
MAGIC: Final = b"PK\x03\x04"
# What zipfile, zlib and numpy answer a changed file with; a wrong position is an OSError.
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)


def write(path: str, arrays: Mapping[str, Array]) -> None:
    """Raises `OSError`."""

    def fill(partial: str) -> None:
        with zipfile.ZipFile(partial, "w") as archive:
            for name, array in arrays.items():
                content = io.BytesIO()
                npy.write_array(content, array, version=(1, 0), allow_pickle=False)
                member = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
                archive.writestr(member, content.getbuffer())

    outputs.replace(path, fill)


def read(path: str) -> dict[str, Array]:
    """Raises `TraceError` for what is no such file, was cut or changed, or `OSError`."""
    with Path(path).open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                members = archive.infolist()
                return {m.filename.removesuffix(".npy"): _member(archive, m, path) for m in members}
        except _DAMAGE as problem:
            raise _damaged(path, problem) from None


def _damaged(path: str, problem: Exception) -> TraceError:
    size = Path(path).stat().st_size
    return TraceError(f"{path}: offset {size}: expected the end of a .xputrace, found {problem}")


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str) -> Array:
    if member.compress_type != zipfile.ZIP_STORED:
        raise wrong(path, member.header_offset, f"{member.filename} stored as it is", "deflated")
    with archive.open(member) as file:
        shape, fortran, kind = _header(file)
        need = math.prod(shape) * kind.itemsize
        if kind.hasobject or fortran or need > member.file_size:
            expected = f"a plain array of at most {member.file_size} bytes in {member.filename}"
            raise wrong(path, member.header_offset, expected, f"{kind} {shape}")
        data = file.read(need + 1)
        if len(data) != need:
            found = f"{len(data)}"
            raise wrong(path, member.header_offset, f"{need} bytes in {member.filename}", found)
    return np.frombuffer(data, kind).reshape(shape)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    if npy.read_magic(file) != (1, 0):
        raise ValueError("an array of another version than 1.0")
    shape, fortran, kind = npy.read_array_header_1_0(file)
    return shape, fortran, kind
