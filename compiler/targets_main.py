"""`xpu-shark targets`: the accelerators that ship, or one of them with its sources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from xpu_shark.compiler.errors import UsageError
from xpu_shark.simulator import target as targets
from xpu_shark.simulator.target import TargetError


def main(argv: Sequence[str]) -> int:
    """List the targets, or print the file of the one named: figures, sources and derivations.

    Raises `UsageError` for an unknown name or a file that is not right.
    """
    if any(arg.startswith("-") for arg in argv) or len(argv) > 1:
        raise UsageError("usage: xpu-shark targets [NAME|FILE.toml]")
    try:
        return _show(argv[0]) if argv else _list()
    except TargetError as problem:
        raise UsageError(problem) from problem


def _list() -> int:
    names = targets.names()
    width = max(map(len, names), default=0)
    for name in names:
        print(f"{name:{width}}  {targets.load(name).summary}")
    return 0


def _show(name: str) -> int:
    targets.load(name)  # an invalid file is an error, not a listing
    path = Path(name) if name.endswith(".toml") else targets.TARGETS / f"{name}.toml"
    print(path.read_text(), end="")
    return 0
