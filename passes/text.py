"""Text that comes from the user's IR and files, made safe for one line of a log."""

from __future__ import annotations


def one_line(text: str) -> str:
    """`text` with control characters and stray bytes escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
