"""Passes by name: the entry points of group `xpu_shark.passes`, ours and any package's."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Final

from xpu_shark.compiler.errors import UsageError

if TYPE_CHECKING:
    from xpu_shark.passes.module_pass import ModulePass

GROUP: Final = "xpu_shark.passes"


@cache
def available() -> Mapping[str, EntryPoint]:
    """Entry points by pass name, sorted; nothing is imported yet."""
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda p: p.name)}


def check(names: Iterable[str]) -> None:
    """Raise `UsageError` for the first name that is no pass."""
    for name in names:
        if name not in available():
            known = hint(name) or f" (known: {', '.join(available()) or 'none'})"
            raise UsageError(f"unknown pass {name!r}{known}")


def create(name: str) -> ModulePass:
    """An instance of the pass `name` with its default options.

    Raises `UsageError` for an unknown name; what goes wrong in the import of the pass is raised
    as it is.
    """
    check((name,))
    made: ModulePass = available()[name].load()()
    return made


def hint(name: str) -> str:
    """A pass that `name` may have meant, as the end of a message; empty if none comes near."""
    near = difflib.get_close_matches(name, available(), n=1)
    return f", did you mean {near[0]!r}?" if near else ""
