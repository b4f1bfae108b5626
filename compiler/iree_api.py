"""The calls of IREE's C API that the compile session needs, those without Python wrappers too.

Importing this module loads the compiler library (0.3 s).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any, Final

from iree.compiler.api import Invocation, Output, ctypes_dl

_BANNER: Final = b"IREE compilation driver"
_PARSED: Final = 77  # exit code of the probe that LLVM itself never uses
_dylib: Final[Any] = ctypes_dl._dylib
_SIGNATURES: Final[dict[str, tuple[Any, list[Any]]]] = {
    "ireeCompilerInvocationSetCompileFromPhase": (None, [ctypes.c_void_p, ctypes.c_char_p]),
    "ireeCompilerInvocationSetCompileToPhase": (None, [ctypes.c_void_p, ctypes.c_char_p]),
    "ireeCompilerInvocationSetVerifyIR": (None, [ctypes.c_void_p, ctypes.c_bool]),
    "ireeCompilerInvocationSetDumpCompilationPhasesTo": (None, [ctypes.c_void_p, ctypes.c_char_p]),
    "ireeCompilerInvocationOutputVMCSource": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]),
}
for _name, (_result, _arguments) in _SIGNATURES.items():
    _function = getattr(_dylib, _name)
    _function.restype, _function.argtypes = _result, _arguments


def set_flags(argv: Sequence[str]) -> None:
    """Parse iree-compile flags (argv[0] is the program) for all sessions of this process.

    May be called once. A flag that LLVM refuses ends the process with LLVM's message.
    """
    encoded = [ctypes.create_string_buffer(os.fsencode(arg)) for arg in argv]
    addresses = [ctypes.cast(each, ctypes.c_char_p) for each in encoded]
    pointers = (ctypes.c_char_p * len(argv))(*addresses)
    _keep.extend(encoded)
    _dylib.ireeCompilerSetupGlobalCL(len(argv), pointers, _BANNER, True)


def accepts_flags(argv: Sequence[str]) -> bool:
    """Whether `set_flags(argv)` would return; found out by a child process, so nothing changes.

    False also where the flags ask for help or the version, and where there is no `os.fork`.
    """
    if not hasattr(os, "fork"):
        return False
    child = os.fork()
    if child == 0:
        _probe(argv)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == _PARSED


def set_phases(invocation: Invocation, start: str, end: str) -> None:
    """Let the next `execute` run what follows phase `start`, up to and with phase `end`."""
    _dylib.ireeCompilerInvocationSetCompileFromPhase(invocation._inv_p, start.encode())
    _dylib.ireeCompilerInvocationSetCompileToPhase(invocation._inv_p, end.encode())


def set_verify(invocation: Invocation, verify: bool) -> None:
    _dylib.ireeCompilerInvocationSetVerifyIR(invocation._inv_p, verify)


def dump_phases(invocation: Invocation, folder: str) -> None:
    """Write the IR at the end of each phase to `folder`."""
    encoded = os.fsencode(folder)
    _dylib.ireeCompilerInvocationSetDumpCompilationPhasesTo(invocation._inv_p, encoded)


def output_vm_c(invocation: Invocation, output: Output) -> None:
    """Write the module as C source. Raises `ValueError` with IREE's message."""
    problem = _dylib.ireeCompilerInvocationOutputVMCSource(invocation._inv_p, output._output_p)
    ctypes_dl._handle_error(problem)


def _probe(argv: Sequence[str]) -> None:
    """Body of the child: silent, and never back in Python code of the parent."""
    try:
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        set_flags(argv)
        os._exit(_PARSED)
    finally:
        os._exit(1)


_keep: Final[list[Any]] = []  # LLVM keeps pointers into argv
