"""What is wrong with a file, in one line that names the file, the place and what belongs there."""

from __future__ import annotations


class TraceError(Exception):
    """A file cannot be used as it is."""


def wrong(path: str, offset: int, expected: str, found: object = None) -> TraceError:
    """The error for byte `offset` of `path`; `found` is what stands there instead."""
    tail = "" if found is None else f", found {found}"
    return TraceError(f"{path}: offset {offset}: expected {expected}{tail}")
