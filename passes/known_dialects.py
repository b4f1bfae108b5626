"""Dialects without Python classes, made known to MLIR's bindings.

For every op that Python meets, the bindings import the module of its dialect unless it is loaded.
Where there is none they search the import path again at the next op, 0.1 ms each,
most of a walk's time. An empty module ends the search.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Final

_PACKAGE: Final = "iree.compiler.dialects"
_NAMES: Final = (  # what IREE 3.13 registers without classes
    *("stablehlo", "chlo", "torch", "torch_c", "tm_tensor", "ml_program", "bufferization"),
    *("index", "vmvx", "check", "io_parameters", "hal_inline", "hal_loader", "iree_cpu"),
    *("iree_encoding", "iree_linalg_ext", "iree_vector_ext"),
)


def register() -> None:
    """Stand-ins for the modules that are not installed; those that are stay as they are."""
    for name in _NAMES:
        path = f"{_PACKAGE}.{name}"
        if path not in sys.modules and importlib.util.find_spec(path) is None:
            sys.modules[path] = ModuleType(path)
