"""Functions of a compiled module, as its reflection tells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xpu_shark.compiler.errors import UsageError
from xpu_shark.compiler.trace import asserted_types
from xpu_shark.compiler.trace.signature import Type, parse_declaration

DECLARATION: Final = "iree.abi.declaration"
ASYNC: Final = "$async"
_HIDDEN: Final = ("__init", "__deinit")
INSTRUMENTED: Final = "__query_instruments"  # a module with probes exports it


@dataclass(frozen=True)
class Functions:
    """Public functions by name, with their argument types where the module tells them.

    Where it does not, each argument is None: only their number is known.
    """

    types: dict[str, tuple[Type | None, ...]]
    instrumented: bool

    def pick(self, name: str) -> str:
        """`name`, or the only function. Raises `UsageError` with the names there are."""
        known = ", ".join(sorted(self.types)) or "none"
        if name in self.types:
            return name
        if name:
            raise UsageError(f"--function={name}: not in the module; it has {known}")
        names = [each for each in self.types if not each.endswith(ASYNC)]
        if len(names) != 1:
            raise UsageError(f"--function=F is needed: the module has {known}")
        return names[0]


def read(path: str) -> Functions:
    """Raises `UsageError` where `path` is no module of the installed runtime's version."""
    from iree import runtime

    try:
        module = runtime.VmModule.mmap(runtime.VmInstance(), path)
    except (ValueError, RuntimeError, OSError) as problem:
        reason = str(problem).partition(";")[2].strip().partition(";")[0] or problem
        raise UsageError(f"{path}: not a module that iree-compile made: {reason}") from None
    types, names = {}, module.function_names
    for name in names:
        if name not in _HIDDEN and not name.startswith("__"):
            types[name] = _types(path, name, names, module.lookup_function(name))
    return Functions(types, INSTRUMENTED in names)


def _types(path: str, name: str, names: Sequence[str], function: object) -> tuple[Type | None, ...]:
    reflection: dict[str, str] = getattr(function, "reflection", {})
    if DECLARATION in reflection:
        return parse_declaration(reflection[DECLARATION])
    match = re.search(r"\(0([a-zA-Z]*)_", repr(function))
    count = len(match[1]) - match[1].count("v") if match else 0
    body = f"{name}{ASYNC}"  # what a function that waits for its result calls
    return asserted_types.read(path, body if body in names else name, count)
