"""What a reader raises when it meets IR that it cannot turn into work."""

from __future__ import annotations


class Unreadable(ValueError):
    """An op, or part of one, has no model; the message names it and what is missing."""
