"""What a function of a compiled module takes, and whether inputs fit: a wrong one ends IREE's
runner without a word.

A module says it in an attribute of the function, `iree.abi.declaration`: "sync func @main(%input0:
tensor<?x64xf32>) -> (...)". Where there is none, the calling convention tells how many there are,
and the code what it asserts of them (`asserted_types.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.lib import format as npy

from xpu_shark.compiler.errors import UsageError

_INPUT = re.compile(r"(?P<type>[^=@]*?)(=(?P<value>.*))?", re.DOTALL)
_SHAPED = re.compile(r"(?P<sizes>((\?|\d+)x)*)(?P<element>.*)")
_ELEMENT = re.compile(r"[su]?i\d+|bf16|tf32|f\d+\w*|complex<f\d+>|index")
_SCALAR = re.compile(r"[+-]?(\d|\.\d|inf|nan|0x)\S*", re.IGNORECASE)
DYNAMIC: Final = -1


@dataclass(frozen=True)
class Type:
    """An array of `shape` (`DYNAMIC`: any size), or a scalar where `shape` is None."""

    element: str
    shape: tuple[int, ...] | None

    def __str__(self) -> str:
        if self.shape is None:
            return self.element
        return "x".join(["?" if n == DYNAMIC else str(n) for n in self.shape] + [self.element])


def parse_declaration(text: str) -> tuple[Type | None, ...]:
    """Types of the arguments; None for what is neither a tensor nor a number."""
    inside = _balanced(text, text.index("("))
    return tuple(_argument(part) for part in _split(inside)) if inside.strip() else ()


def check(function: str, types: Sequence[Type | None], inputs: Sequence[str]) -> None:
    """Raises `UsageError` for the first of `inputs` (values of --input) that does not fit."""
    given = [found for text in inputs for found in read_input(text)]
    if len(given) != len(types):
        raise UsageError(f"@{function} takes {len(types)} inputs, --input gives {len(given)}")
    for number, (want, (text, have)) in enumerate(zip(types, given, strict=True)):
        if want is not None and have is not None and (why := _difference(want, have)):
            raise UsageError(f"--input={text}: input {number} of @{function} is {want}: {why}")


def untold(function: str, types: Sequence[Type | None]) -> str:
    """Which inputs could not be checked."""
    numbers = ", ".join(str(number) for number, each in enumerate(types) if each is None)
    return f"says no type of input {numbers} of @{function}: not checked, a wrong one ends the run"


def read_input(text: str) -> list[tuple[str, Type | None]]:
    """The types that one --input stands for; a file of numpy arrays may hold several.

    Raises `UsageError` for a text that the runner cannot read or a file that is not there.
    """
    short = text if len(text) <= 60 else text[:57] + "..."
    if text.startswith("@"):
        return [(short, found) for found in _npy(text[1:])]
    if "=" not in text and "x" not in text and _SCALAR.fullmatch(text):
        return [(short, None)]
    match = _INPUT.fullmatch(text)
    assert match is not None
    found = _shaped(match["type"].strip())
    if found is None:
        raise UsageError(f"--input={short}: expected SHAPExTYPE[=VALUES], a number or @FILE.npy")
    value = match["value"] or ""
    if value.startswith("@") and not Path(value[1:]).is_file():
        raise UsageError(f"--input={short}: no file {value[1:]!r}")
    return [(short, found)]


def _difference(want: Type, have: Type) -> str:
    elements = (want.element.lstrip("su"), have.element.lstrip("su"))
    # IREE passes an i1 as a byte, and takes an i8 for it.
    if len(set(elements)) > 1 and elements != ("i1", "i8") and "index" not in want.element:
        return f"element type {want.element} expected, found {have.element}"
    if want.shape is None:
        return "a scalar expected" if have.shape else ""
    if have.shape is None or len(have.shape) != len(want.shape):
        return f"{len(want.shape)} dimensions expected, found {len(have.shape or ())}"
    for number, (a, b) in enumerate(zip(want.shape, have.shape, strict=True)):
        if a not in (DYNAMIC, b):
            return f"dimension {number} of {a} expected, found {b}"
    return ""


def _npy(path: str) -> list[Type]:
    found = []
    try:
        with Path(path).open("rb") as file:
            size = Path(path).stat().st_size
            while file.tell() < size:
                version = npy.read_magic(file)
                read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                shape, _, kind = read(file)
                file.seek(int(np.prod(shape, dtype=np.int64)) * kind.itemsize, 1)
                found.append(Type(_element(kind), tuple(shape)))
    except OSError as problem:
        raise UsageError(f"--input=@{path}: {problem.strerror}") from None
    except ValueError as problem:
        raise UsageError(f"--input=@{path}: not a numpy file: {problem}") from None
    return found


def _element(kind: np.dtype[np.generic]) -> str:
    letter = {"f": "f", "i": "i", "u": "i", "b": "i"}.get(kind.kind, "")
    if kind.kind == "c":
        return f"complex<f{kind.itemsize * 4}>"
    return "i1" if kind.kind == "b" else f"{letter}{kind.itemsize * 8}"


def _argument(text: str) -> Type | None:
    body = text.partition(":")[2].strip()
    if body.startswith("tensor<"):
        return _shaped(_balanced(body, body.index("<"), "<>").partition(",")[0].strip())
    element = body.partition(" ")[0]
    return Type(element, None) if _ELEMENT.fullmatch(element) else None


def _shaped(text: str) -> Type | None:
    """`4x?xf32` or `f32`; None for something else."""
    match = _SHAPED.fullmatch(text)
    if match is None or not _ELEMENT.fullmatch(match["element"]):
        return None
    sizes = match["sizes"].split("x")[:-1]
    return Type(match["element"], tuple(DYNAMIC if n == "?" else int(n) for n in sizes))


def _balanced(text: str, start: int, pair: str = "()") -> str:
    """What stands between the bracket at `start` and the one that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == pair[0]) - (text[at] == pair[1])
        if depth == 0:
            return text[start + 1 : at]
    return text[start + 1 :]


def _split(text: str) -> list[str]:
    """At commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "(<[{") - (letter in ")>]}")
        if letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
