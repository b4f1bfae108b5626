"""iree-compile's command line, as its driver reads it.

The driver's own options and the input are taken out here; everything else is parsed by LLVM
itself, so a flag that the installed IREE knows is a flag that works.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PHASES: Final = (
    "start",
    "input",
    "abi",
    "preprocessing",
    "global-optimization",
    "dispatch-creation",
    "flow",
    "stream",
    "executable-sources",
    "executable-configurations",
    "executable-targets",
    "hal",
    "vm",
    "end",
)
_FORMATS: Final = ("vm-bytecode", "vm-c", "vm-asm")
_VALUES: Final = {  # options with a value, and what it may be (empty: anything)
    "o": (),
    "compile-from": PHASES,
    "compile-to": PHASES,
    "compile-mode": ("std", "vm", "hal-executable", "precompile"),
    "output-format": _FORMATS,
    "dump-compilation-phases-to": (),
    "emit-mlir-bytecode-version": (),
    "remarks-filter": (),
    "remarks-output-file": (),
}
_SWITCHES: Final = ("verify", "emit-mlir-bytecode", "split-input-file")
_TRUE: Final = ("", "true", "TRUE", "True", "1")
_FALSE: Final = ("false", "FALSE", "False", "0")
_NUMBER = re.compile(r"-\d")


class StockOnly(Exception):
    """This command line is for iree-compile alone.

    The message says why, for the log; it is empty where iree-compile itself will speak (help,
    a version, an error).
    """


@dataclass(frozen=True)
class CommandLine:
    """One compile as iree-compile understands it; `flags` are for LLVM's parser."""

    input: str
    flags: tuple[str, ...] = ()
    output: str = "-"
    compile_from: str = "start"
    compile_to: str = "end"
    output_format: str = "vm-bytecode"
    dump_phases_to: str = ""
    bytecode: bool = False
    bytecode_version: int = -1
    remarks_filter: str = ""
    remarks_output_file: str = ""
    verify: bool = True


def expand_response_files(args: Sequence[str], depth: int = 8) -> Iterator[str]:
    """`args` with each `@FILE` that exists replaced by the arguments in it, as LLVM does."""
    for arg in args:
        path = Path(arg[1:])
        if depth and arg.startswith("@") and path.is_file():
            inner = shlex.split(path.read_text(errors="surrogateescape"))
            yield from expand_response_files(inner, depth - 1)
        else:
            yield arg


def read(args: Sequence[str], accepts: Callable[[Sequence[str]], bool]) -> CommandLine:
    """Sort `args`. `accepts` says whether LLVM takes a list of flags as it is.

    Raises `StockOnly` where the phases of this compile cannot be taken apart.
    """
    inputs: list[str] = []
    flags: list[str] = []
    own: dict[str, str] = {}
    rest = list(args)
    while rest:
        arg = rest.pop(0)
        name, equals, value = arg.lstrip("-").partition("=")
        if arg == "--":
            inputs += rest
            break
        if arg == "-" or not arg.startswith("-"):
            inputs.append(arg)
        elif name in _VALUES:
            own[name] = value if equals else _next(rest)
        elif name in _SWITCHES:
            own[name] = value
        else:
            flags.append(arg)
            if not equals and _may_be_value(rest) and not accepts([arg]):
                flags.append(rest.pop(0))
    if len(inputs) != 1 or not accepts(flags):
        raise StockOnly
    return _command(inputs[0], tuple(flags), own)


def _next(rest: list[str]) -> str:
    if not rest:
        raise StockOnly
    return rest.pop(0)


def _may_be_value(rest: list[str]) -> bool:
    """Whether the next argument could belong to the flag before it."""
    return bool(rest) and (not rest[0].startswith("-") or bool(_NUMBER.match(rest[0])))


def _command(source: str, flags: tuple[str, ...], own: dict[str, str]) -> CommandLine:
    for name, value in own.items():
        if name in _VALUES and _VALUES[name] and value not in _VALUES[name]:
            raise StockOnly
    if own.get("compile-mode", "std") != "std":
        raise StockOnly(f"analysis skipped: --compile-mode={own['compile-mode']} has no phases")
    if _switch(own, "split-input-file", False):
        raise StockOnly("analysis skipped: --split-input-file compiles several modules")
    return CommandLine(
        input=source,
        flags=flags,
        output=own.get("o", "-"),
        compile_from=own.get("compile-from", "start"),
        compile_to=own.get("compile-to", "end"),
        output_format=own.get("output-format", "vm-bytecode"),
        dump_phases_to=own.get("dump-compilation-phases-to", ""),
        bytecode=_switch(own, "emit-mlir-bytecode", False),
        bytecode_version=_integer(own.get("emit-mlir-bytecode-version", "-1")),
        remarks_filter=own.get("remarks-filter", ""),
        remarks_output_file=own.get("remarks-output-file", ""),
        verify=_switch(own, "verify", True),
    )


def _switch(own: dict[str, str], name: str, default: bool) -> bool:
    if name not in own:
        return default
    if own[name] not in _TRUE + _FALSE:
        raise StockOnly
    return own[name] in _TRUE


def _integer(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise StockOnly from None
